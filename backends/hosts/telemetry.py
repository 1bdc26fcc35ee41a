"""What a host and its GPUs do while a run trains: the lines that ``telemetry.sh`` prints.

The stream is kept byte for byte as ``telemetry/<run id>.<host>.csv``; :func:`read_telemetry` makes
frames of it. pandas is imported only then.
"""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from backends.hosts.nvidia import THROTTLE_REASONS

if TYPE_CHECKING:
    import pandas as pd

_SCRIPT = (Path(__file__).parent / "telemetry.sh").read_text("utf-8")
_BLOCK = 4 << 20
WHOLE_BYTES = 16 << 20
"""Of a longer file several samples make one: each is kept of 8 GPUs for 4 hours."""
MOST_BYTES = 1 << 30
"""Of a file that are looked at, from its beginning: 8 GPUs for 10 days."""
COLUMNS = {
    "timestamp": "time_s",
    "index": "gpu",
    "memory.used": "memory_mib",
    "utilization.gpu": "utilization",
    "power.draw": "power_w",
    "clocks.current.sm": "clock_mhz",
    "clocks.max.sm": "clock_max_mhz",
    "temperature.gpu": "temperature_c",
    "ecc.errors.uncorrected.volatile.total": "ecc_errors",
}
_COUNTERS = {
    "clocks_event_reasons_counters.sw_power_cap": "power cap",
    "clocks_event_reasons_counters.sync_boost": "sync boost",
    "clocks_event_reasons_counters.sw_thermal_slowdown": "software thermal slowdown",
    "clocks_event_reasons_counters.hw_thermal_slowdown": "hardware thermal slowdown",
    "clocks_event_reasons_counters.hw_power_brake_slowdown": "power brake",
}
"""Of microseconds, with the words that a mask of reasons has for the same."""
_ACTIVE = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_NOW = "now: "
_HOST = ("time_s", "cpus", "load1", "busy", "total", "swapped_kib")
_OTHER = ("time_s", "gpu", "pid")
LONGEST_GAP_S = 5.0
"""Two samples of a GPU further apart than this say nothing about the time between them."""


def telemetry_command(*, gpus: bool, devices: Sequence[int] = ()) -> str:
    """For a shell; prints until nobody reads any more. ``devices``: those alone; none: all."""
    words = ["gpu" if gpus else "nogpu"]
    words += [",".join(map(str, devices))] if gpus and devices else []
    return f"exec sh -c {shlex.quote(_SCRIPT)} telemetry {' '.join(words)}"


@dataclass(frozen=True, slots=True)
class HostTelemetry:
    """Everything that was seen of one host, in the order of time.

    Times are seconds since the epoch by the host's clock; what the host does not tell is NaN.

    Parameters
    ----------
    gpus: a row per GPU and second: ``time_s``, ``gpu`` (its index), ``passed`` (seconds for which
        the row stands, 0 after a gap), ``memory_mib``, ``utilization`` (percent), ``power_w``,
        ``clock_mhz``, ``clock_max_mhz``, ``temperature_c``, ``ecc_errors`` (since its driver was
        loaded), and for each reason a column of that name with the seconds for which the GPU was
        throttled by it; no such column where the driver does not say.
    host: a row every few seconds: ``time_s``, ``cpus``, ``load1``, ``busy`` and ``total`` (ticks of
        all CPUs since boot), ``swapped_kib`` (in and out since boot).
    others: processes of no run of ours on its GPUs: ``time_s``, ``gpu``, ``pid``.
    """

    gpus: pd.DataFrame
    host: pd.DataFrame
    others: pd.DataFrame

    @property
    def reasons(self) -> list[str]:
        """Why a GPU is throttled, as far as this driver knows."""
        return [str(name) for name in self.gpus.columns if name in THROTTLE_REASONS.values()]


def read_telemetry(file: BinaryIO) -> HostTelemetry:
    """Everything in a file that makes sense; a line that does not (an error, a torn one) is none.

    Of a file longer than :data:`WHOLE_BYTES` several samples of a GPU are one row, so that memory
    stays the same; of one longer than :data:`MOST_BYTES` only the beginning.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    several = max(1, math.ceil(min(size, MOST_BYTES) / WHOLE_BYTES))
    header: list[str] = []
    zone_s = 0.0
    gpus, hosts, others = [], [], []
    before = None
    for block in _blocks(file):
        header = _header(block) or header
        rows = _gpu_rows(block, header)
        host = _numbers(rb"host", block, _HOST)
        if len(host) and len(rows):  # printed within seconds; zones differ by quarters of an hour
            zone_s = round((host.time_s[0] - rows.time_s[0]) / 900) * 900.0
        rows["time_s"] += zone_s
        gpus.append(_fewer(_with_durations(rows, before), several))
        before = rows.groupby("gpu").tail(1) if len(rows) else before
        hosts.append(host)
        others.append(_numbers(rb"other", block, _OTHER))
    return HostTelemetry(
        _joined(gpus, (*COLUMNS.values(), "passed")),
        _joined(hosts, _HOST),
        _joined(others, _OTHER),
    )


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, some millions of bytes at a time."""
    rest, left = b"", MOST_BYTES
    while data := file.read(min(_BLOCK, left)):
        left -= len(data)
        whole, end, rest = (rest + data).rpartition(b"\n")
        yield whole + end
        rest = rest[:_BLOCK]  # a line that long is none


def _found(pattern: bytes, block: bytes) -> list[bytes]:
    return re.findall(pattern, block, re.MULTILINE)


def _header(block: bytes) -> list[str]:
    """Names of columns, of the last line that has them; empty where none does."""
    line = b"".join(_found(rb"^(timestamp, [^\r\n]+)", block)[-1:]).decode("ascii", "replace")
    names = [re.sub(r"\s*\[[^\]]*\]$", "", name) for name in line.split(", ")]
    return names if len(set(names)) == len(names) > 1 else []


def _table(lines: list[bytes], columns: list[str]) -> pd.DataFrame:
    """Of cells between commas, numbers where a whole column is."""
    import pandas as pd  # noqa: PLC0415

    if not lines:
        return pd.DataFrame(columns=columns, dtype=object)
    return pd.read_csv(
        io.BytesIO(b"\n".join(lines)),
        names=columns,
        header=None,
        index_col=False,
        skipinitialspace=True,
        quoting=csv.QUOTE_NONE,
        encoding="latin-1",
        na_values=["[N/A]", "[Not Supported]"],
        low_memory=False,
    )


def _numbers(start: bytes, block: bytes, columns: tuple[str, ...]) -> pd.DataFrame:
    """Lines that begin so, and have as many numbers as there are columns."""
    import pandas as pd  # noqa: PLC0415

    pattern = rb"^%s, (\d[\d.]*(?:, \d[\d.]*){%d})$" % (start, len(columns) - 1)
    text = _table(_found(pattern, block), list(columns))
    frame = pd.DataFrame({name: _floats(text[name]) for name in columns})
    return frame.dropna(ignore_index=True)


def _floats(cells: pd.Series[Any]) -> pd.Series[float]:  # of text, or of numbers
    """NaN for what is not a number, such as ``[N/A]``."""
    import pandas as pd  # noqa: PLC0415

    return pd.to_numeric(cells, errors="coerce").astype(float)


def _gpu_rows(block: bytes, header: list[str]) -> pd.DataFrame:
    """Times as if they were UTC; of each reason the seconds counted, or 1 where it is so now."""
    import pandas as pd  # noqa: PLC0415

    names = header or list(COLUMNS)
    cells = rb"(?:, [^,\r\n\0]*){%d}" % (len(names) - 1)
    text = _table(_found(rb"^(\d{4}/\d\d/\d\d [^,\r\n\0]*" + cells + rb")$", block), names)
    known = {**COLUMNS, **_COUNTERS}.items()
    rows = pd.DataFrame({name: _floats(text[key]) for key, name in known if key in text})
    rows = rows.reindex(columns=list(dict.fromkeys([*COLUMNS.values(), *rows.columns])))
    moments = pd.to_datetime(text["timestamp"], format="%Y/%m/%d %H:%M:%S.%f", errors="coerce")
    rows["time_s"] = (moments - pd.Timestamp(0)).dt.total_seconds()
    for reason in rows.columns.intersection(list(_COUNTERS.values())):
        rows[reason] /= 1e6
    for key in text.columns.intersection(list(_ACTIVE)):
        masks = [_mask(str(cell)) for cell in text[key]]
        for bit, reason in THROTTLE_REASONS.items():
            rows[_NOW + reason] = [float(mask & bit > 0) for mask in masks]
    return rows.dropna(subset=["time_s", "gpu"], ignore_index=True)


def _mask(cell: str) -> int:
    try:
        return int(cell, 16)
    except ValueError:
        return 0


def _joined(frames: list[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    given = [frame for frame in frames if len(frame)]
    return pd.concat(given, ignore_index=True) if given else pd.DataFrame(columns=list(columns))


def _with_durations(rows: pd.DataFrame, before: pd.DataFrame | None) -> pd.DataFrame:
    """For how long each row stands, and for how much of it its GPU was throttled. ``before``: the
    last row of each GPU in front of them."""
    import pandas as pd  # noqa: PLC0415

    known = 0 if before is None else len(before)
    rows = rows.copy() if before is None else pd.concat([before, rows], ignore_index=True)
    by_gpu = rows.groupby("gpu")
    passed = by_gpu["time_s"].diff()
    rows["passed"] = passed.where((passed > 0) & (passed <= LONGEST_GAP_S), 0.0)
    for reason in THROTTLE_REASONS.values():
        if reason in rows:
            counted = by_gpu[reason].diff().fillna(0.0)
            rows[reason] = counted.clip(lower=0.0).clip(upper=rows["passed"])
        elif _NOW + reason in rows:
            rows[reason] = rows.pop(_NOW + reason) * rows["passed"]
    return rows[known:].reset_index(drop=True)


def _fewer(rows: pd.DataFrame, several: int) -> pd.DataFrame:
    """One of so many samples of a GPU: their sums of seconds, means, and largest values, at the
    time of the last."""
    if several == 1 or not len(rows):
        return rows
    added = {"passed", *THROTTLE_REASONS.values()}
    how: dict[str, Any] = {
        name: "sum" if name in added else "mean" if name in _OF_A_MOMENT else "max"
        for name in rows.columns
        if name != "gpu"
    }
    together = rows.groupby("gpu").cumcount() // several
    fewer = rows.groupby(["gpu", together.rename("together")], as_index=False).agg(how)
    return fewer.drop(columns="together").sort_values("time_s", ignore_index=True)


_OF_A_MOMENT = frozenset({"utilization", "power_w", "clock_mhz"})
