"""What the telemetry of a run comes to: one line per GPU, one per host, and what coincided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from backends.hosts.telemetry import HostTelemetry

POWER_IS_OF_S = 1.0
"""Drivers of Ampere GPUs and newer tell the mean of so long (nvmlDeviceGetPowerUsage): the first
sample of a run is partly of before."""
STAMPED_S = 1.0
"""A host's own lines tell the second in which they were taken, and not when in it."""
FEWEST_SAMPLES = 2
"""One sample is of a moment, and no mean of a time."""
SLOWED_BY_CLOCK = 0.03
"""A GPU's mean clock is lower by this share than in the rest of the run …"""
SLOWED_BY_THROTTLE = 0.05
"""… or it is throttled for a share of the time that is larger by this: then it is no chance."""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU from the run's first reading to its last; None where its driver does not say.

    ``seconds``: for which there are samples. ``utilization``: percent of the time in which a kernel
    ran. ``throttled_s``: seconds by reason. ``ecc_errors``: memory errors that could not be
    corrected, from the start of the run on. ``other_processes``: of no run of ours, ever.
    """

    host: str
    gpu: int
    seconds: float
    utilization_mean: float | None = None
    utilization_p95: float | None = None
    power_w_mean: float | None = None
    energy_j: float | None = None
    sm_clock_mhz_mean: float | None = None
    sm_clock_mhz_max: float | None = None
    temperature_c_max: float | None = None
    memory_mib_max: float | None = None
    throttled_s: Mapping[str, float] | None = None
    ecc_errors: int | None = None
    other_processes: int = 0


@dataclass(frozen=True, slots=True)
class HostUse:
    """One host of a run.

    ``load_start``: its load (1 min) when the run began, that of what ran before it included.
    ``seconds``: from the first to the last look while it trained; None in journals without it.
    ``cpu_busy``: share of its CPUs while it trained, its own work included. ``swapped_kib``: in and
    out meanwhile.
    """

    host: str
    cpus: int
    load_start: float
    cpu_busy: float | None = None
    swapped_kib: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What a GPU did in just the part of a run in which it was slower.

    ``disturbance``: number of it among the run's. ``throttled_s`` and ``throttled_by``: for how
    long it was throttled, and mostly why; 0 and empty where it was not. ``clock_change``: of its
    mean SM clock against the rest of the run, relative.
    """

    disturbance: int
    host: str
    gpu: int
    throttled_s: float = 0.0
    throttled_by: str = ""
    clock_change: float = 0.0


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Of a whole run."""

    gpus: tuple[GpuUse, ...] = ()
    hosts: tuple[HostUse, ...] = ()
    meanwhile: tuple[Meanwhile, ...] = ()

    @property
    def power_w(self) -> float | None:
        """Of all GPUs of the run together; None where it is not known of every one."""
        known = [gpu.power_w_mean for gpu in self.gpus if gpu.power_w_mean is not None]
        return sum(known) if known and len(known) == len(self.gpus) else None

    @property
    def memory_mib(self) -> int | None:
        """The largest of any GPU; None where nothing was measured."""
        known = [gpu.memory_mib_max for gpu in self.gpus if gpu.memory_mib_max is not None]
        return int(max(known)) if known else None

    @property
    def untimed(self) -> Telemetry:
        """What is so whenever the run trained: for one of which nobody knows when it did."""
        gpus = (
            GpuUse(
                host=gpu.host,
                gpu=gpu.gpu,
                seconds=0.0,
                memory_mib_max=gpu.memory_mib_max,
                ecc_errors=gpu.ecc_errors,
                other_processes=gpu.other_processes,
            )
            for gpu in self.gpus
        )
        return Telemetry(tuple(gpus), tuple(replace(host, cpu_busy=None) for host in self.hosts))


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds since the epoch, both ends included."""

    start: float
    end: float

    def of(self, rows: pd.DataFrame) -> pd.DataFrame:
        return rows[rows["time_s"].between(self.start, self.end)]

    def later(self, seconds: float) -> Span:
        return Span(self.start + seconds, self.end + seconds)


ALWAYS = Span(-math.inf, math.inf)


def summarise(
    seen: HostTelemetry,
    host: str,
    devices: Sequence[int],
    trained: Span,
    slow: Mapping[int, Span],
    ran: Span = ALWAYS,
) -> Telemetry:
    """Of one host. No sample counts that was taken after the run's end, nor what passed between two
    of which one was taken before its launch.

    Parameters
    ----------
    devices: the indices of its GPUs that the run used.
    trained: from the first reading to the last, by the host's clock.
    slow: parts of it in which the run was slower, by the number of their disturbance.
    ran: from its launch to its end on this host, by the host's clock.
    """
    seen = _while_it_ran(seen, ran)
    trained = Span(max(trained.start, ran.start), trained.end)
    gpus, meanwhile = [], []
    for device in devices:
        rows = seen.gpus[seen.gpus["gpu"] == device]
        if not len(rows):
            continue
        others = seen.others[seen.others["gpu"] == device]
        use = _gpu_use(rows, trained, seen.reasons, host, device, others["pid"].nunique())
        gpus.append(replace(use, ecc_errors=_gained(ran.of(rows)["ecc_errors"].dropna())))
        for number, span in slow.items():
            found = _meanwhile(rows, trained, span, seen.reasons)
            if found is not None:
                meanwhile.append(Meanwhile(number, host, device, *found))
    uses = () if not len(seen.host) else (_host_use(seen.host, trained, host, ran),)
    return Telemetry(tuple(gpus), uses, tuple(meanwhile))


def _while_it_ran(seen: HostTelemetry, ran: Span) -> HostTelemetry:
    """What was sampled before its launch stays, but not as time that passed."""
    gpus = Span(-math.inf, ran.end).of(seen.gpus)
    whole = gpus["time_s"] - gpus["passed"] >= ran.start
    passed = {name: gpus[name].where(whole, 0.0) for name in ("passed", *seen.reasons)}
    by_second = Span(-math.inf, ran.end - STAMPED_S)
    return replace(
        seen,
        gpus=gpus.assign(**passed),
        host=by_second.of(seen.host),
        others=by_second.of(seen.others),
    )


def _gpu_use(
    rows: pd.DataFrame,
    trained: Span,
    reasons: Sequence[str],
    host: str,
    device: int,
    others: int,
) -> GpuUse:
    own = trained.of(rows)
    several = own if len(own) >= FEWEST_SAMPLES else own.iloc[:0]
    passed = own["passed"]
    powered = float(passed[own["power_w"].notna()].sum())
    power = _mean_power(own, trained)
    return GpuUse(
        host=host,
        gpu=device,
        seconds=float(passed.sum()),
        utilization_mean=_known(several["utilization"].mean()),
        utilization_p95=_known(float(several["utilization"].quantile(0.95))),
        power_w_mean=power,
        energy_j=power * powered if power is not None else None,
        sm_clock_mhz_mean=_known(several["clock_mhz"].mean()),
        sm_clock_mhz_max=_known(own["clock_max_mhz"].max()),
        temperature_c_max=_known(own["temperature_c"].max()),
        memory_mib_max=_known(rows["memory_mib"].max()),  # what is held before counts as well
        throttled_s={reason: float(own[reason].sum()) for reason in reasons} or None,
        other_processes=others,
    )


def _mean_power(own: pd.DataFrame, trained: Span) -> float | None:
    """Over time; without the first samples, where there are enough others."""
    known = own[own["power_w"].notna() & (own["passed"] > 0)]
    later = Span(trained.start + POWER_IS_OF_S, trained.end).of(known)
    counted = later if len(later) >= FEWEST_SAMPLES else known
    if len(counted) < FEWEST_SAMPLES:
        return None
    return float((counted["power_w"] * counted["passed"]).sum() / counted["passed"].sum())


def _known(value: float) -> float | None:
    """pandas has NaN for the mean of nothing."""
    return None if math.isnan(value) else float(value)


def _gained(counts: pd.Series[float]) -> int | None:
    """From the first to the last; None of fewer than two."""
    return int(max(0.0, counts.iloc[-1] - counts.iloc[0])) if len(counts) > 1 else None


def _host_use(rows: pd.DataFrame, trained: Span, host: str, ran: Span) -> HostUse:
    own = trained.of(rows)
    busy, total = (own[name].iloc[-1] - own[name].iloc[0] if len(own) else 0 for name in _TICKS)
    return HostUse(
        host=host,
        cpus=int(rows["cpus"].iloc[0]),
        load_start=float(rows["load1"].iloc[0]),
        cpu_busy=float(busy / total) if total > 0 else None,
        swapped_kib=_gained(ran.of(rows)["swapped_kib"]),
        seconds=float(own["time_s"].iloc[-1] - own["time_s"].iloc[0]) if len(own) else 0.0,
    )


_TICKS = ("busy", "total")


def _meanwhile(
    rows: pd.DataFrame, trained: Span, span: Span, reasons: Sequence[str]
) -> tuple[float, str, float] | None:
    """Seconds throttled, why, and the change of the clock; None where it was as at other times."""
    inside = span.of(rows)
    rest = trained.of(rows).drop(inside.index, errors="ignore")
    inside_s, rest_s = inside["passed"].sum(), rest["passed"].sum()
    if not inside_s or not rest_s:
        return None
    clock = inside["clock_mhz"].mean() / rest["clock_mhz"].mean() - 1
    clock = 0.0 if math.isnan(clock) else clock
    shares = {reason: inside[reason].sum() for reason in reasons}
    reason = max(shares, key=lambda name: shares[name], default="")
    throttled = float(shares.get(reason, 0.0))
    more = throttled / inside_s - (rest[reason].sum() / rest_s if reason else 0.0)
    if more < SLOWED_BY_THROTTLE:
        throttled, reason = 0.0, ""
        if clock > -SLOWED_BY_CLOCK:
            return None
    return throttled, reason, float(clock)
