"""From the pieces that a host told to typed evidence. Every parser takes bytes of any quality."""

from __future__ import annotations

from collections.abc import Sequence

from backends.hangs.evidence import HostEvidence, Lack, RasReport
from backends.hangs.flight import MOST_BYTES, read_flight
from backends.hangs.gpus import read_gpu_processes, read_gpus
from backends.hangs.kernel_log import read_kernel
from backends.hangs.processes import read_processes
from backends.hangs.ras import read_ras
from backends.hangs.sections import Section
from backends.hangs.stacks import read_stack


def host_evidence(
    host: str,
    devices: tuple[int, ...],
    sections: Sequence[Section] | None,
    dump_bytes: int = MOST_BYTES,
) -> HostEvidence:
    """``sections``: None where the host did not answer within the limit. ``dump_bytes``: larger
    dumps of a flight recorder are not read."""
    if sections is None:
        return HostEvidence(host, devices, answered=False, listed=False)
    by_name = {section.name: section for section in sections}
    processes, gpus = by_name.get("processes"), by_name.get("gpus")
    apps, kernel = by_name.get("gpu-processes"), by_name.get("kernel")
    stacks = []
    for pid, section in _numbered(sections, "py-spy"):
        told = read_stack(pid, section.text, section.status)
        stacks.append((pid, told) if isinstance(told, Lack) else told)
    return HostEvidence(
        host=host,
        devices=devices,
        listed=processes is not None and processes.status == 0,
        processes=read_processes(processes.text) if processes else (),
        stacks=tuple(stacks),
        flights=tuple(
            (rank, read_flight(section.content, section.status, dump_bytes))
            for rank, section in _numbered(sections, "flight")
        ),
        ras=_ras(by_name.get("ras")),
        gpus=read_gpus(gpus.text, gpus.status) if gpus else Lack.NOT_INSTALLED,
        gpu_of_pid=read_gpu_processes(apps.text) if apps else (),
        kernel=read_kernel(kernel.text, kernel.status, _up_s(by_name.get("uptime")))
        if kernel
        else Lack.NOT_THERE,
    )


def _numbered(sections: Sequence[Section], name: str) -> list[tuple[int, Section]]:
    return [(s.number, s) for s in sections if s.name == name and s.number is not None]


def _ras(section: Section | None) -> RasReport | Lack:
    if section is None or section.status == 3:  # nobody listens there
        return Lack.NOT_THERE
    report = read_ras(section.text)
    if report is not None:
        return report
    return Lack.UNREADABLE if section.status == 0 else Lack.SILENT


def _up_s(section: Section | None) -> float | None:
    word = section.text.split(" ")[0] if section else ""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 <= value < 1e10 else None
