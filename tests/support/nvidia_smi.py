"""A program that answers as nvidia-smi does of GPUs that this machine does not have."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

V100_LINKS = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tCPU Affinity
GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tNODE\t0-11,24-35
GPU1\tNV1\t X \tNV2\tNV1\tSYS\tNV2\tSYS\tSYS\tNODE\t0-11,24-35
GPU2\tNV1\tNV2\t X \tNV2\tSYS\tSYS\tNV1\tSYS\tPIX\t0-11,24-35
GPU3\tNV2\tNV1\tNV2\t X \tSYS\tSYS\tSYS\tNV1\tPIX\t0-11,24-35
GPU4\tNV2\tSYS\tSYS\tSYS\t X \tNV1\tNV1\tNV2\tSYS\t12-23,36-47
GPU5\tSYS\tNV2\tSYS\tSYS\tNV1\t X \tNV2\tNV1\tSYS\t12-23,36-47
GPU6\tSYS\tSYS\tNV1\tSYS\tNV1\tNV2\t X \tNV2\tSYS\t12-23,36-47
GPU7\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tNV2\t X \tSYS\t12-23,36-47
mlx5_0\tNODE\tNODE\tPIX\tPIX\tSYS\tSYS\tSYS\tSYS\t X \t
"""
"""nvidia-smi topo -m of a DGX-1-like host of the DLPerf reports."""

H200_LINKS = "".join(
    [
        "\t" + "".join(f"GPU{i}\t" for i in range(8)) + "CPU Affinity\tNUMA Affinity\n",
        *(
            f"GPU{i}\t" + "".join(" X \t" if i == j else "NV18\t" for j in range(8)) + "0-127\t0\n"
            for i in range(8)
        ),
    ]
)

_PROGRAM = """\
#!{python}
import sys, time
CELLS, GPUS, LINKS, DRIVER, CUDA = {cells!r}, {gpus!r}, {links!r}, {driver!r}, {cuda!r}
asked = dict(a.lstrip("-").partition("=")[::2] for a in sys.argv[1:] if a.startswith("--"))
plain = "nounits" in asked.get("format", "")

def rows(fields):
    for number, own in enumerate(GPUS):
        now = time.strftime("%Y/%m/%d %H:%M:%S.000")
        known = {{**CELLS, "index": str(number), "uuid": "GPU-%08x" % number, "timestamp": now,
                 "pci.bus_id": "00000000:%02X:00.0" % (number + 6), **own}}
        cells = [known[f] for f in fields]
        print(", ".join(c.split(" ")[0] if plain and f in UNITS else c
                        for f, c in zip(fields, cells)), flush=True)

UNITS = {{"memory.total", "memory.used", "utilization.gpu", "power.draw", "power.limit",
         "clocks.current.sm", "clocks.max.sm"}}
if sys.argv[1:3] == ["topo", "-m"]:
    print(LINKS, end="")
elif "query-compute-apps" in asked:
    print("gpu_uuid, pid, used_gpu_memory [MiB], process_name")
elif "query-gpu" in asked:
    fields = asked["query-gpu"].split(",")
    known = {{*CELLS, "index", "uuid", "timestamp", "pci.bus_id"}}
    unknown = [f for f in fields if f not in known]
    if unknown:
        print('Field "%s" is not a valid field to query.' % unknown[0])
        sys.exit(2)
    if "noheader" not in asked["format"]:
        print(", ".join(fields), flush=True)
    rows(fields)
    while "-l" in sys.argv:
        time.sleep(1)
        rows(fields)
else:
    print("| NVIDIA-SMI %s    Driver Version: %s    CUDA Version: %s |" % (DRIVER, DRIVER, CUDA))
"""


@dataclass(frozen=True)
class FakeGpus:
    """Eight GPUs of one model. ``differ``: by the number of a GPU, its answers by field, such as
    ``ecc.errors.uncorrected.volatile.total``."""

    name: str
    memory_mib: int
    power_limit_w: int
    links: str
    driver: str
    cuda: str
    differ: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def install(self, directory: Path) -> Path:
        """Write the program into a directory that is to be in a host's PATH."""
        directory.mkdir(parents=True, exist_ok=True)
        cells = {
            "name": self.name,
            "driver_version": self.driver,
            "memory.total": f"{self.memory_mib} MiB",
            "memory.used": "3 MiB",
            "utilization.gpu": "0 %",
            "power.draw": "52.00 W",
            "power.limit": f"{self.power_limit_w}.00 W",
            "temperature.gpu": "36",
            "clocks.current.sm": "1530 MHz",
            "clocks.max.sm": "1530 MHz",
            "ecc.errors.uncorrected.volatile.total": "0",
            "ecc.mode.current": "Enabled",
            "persistence_mode": "Enabled",
            "clocks_throttle_reasons.active": "0x0000000000000000",
        }
        path = directory / "nvidia-smi"
        path.write_text(
            _PROGRAM.format(
                python=sys.executable,
                cells=cells,
                gpus=[dict(self.differ.get(number, {})) for number in range(8)],
                links=self.links,
                driver=self.driver,
                cuda=self.cuda,
            )
        )
        path.chmod(0o755)
        return path


V100 = FakeGpus("Tesla V100-SXM2-16GB", 16160, 300, V100_LINKS, "440.33.01", "10.2")
H200 = FakeGpus("NVIDIA H200", 143771, 700, H200_LINKS, "580.159.04", "13.0")
