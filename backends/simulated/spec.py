"""What a simulated host is made of: values that the probe then finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIB_OF_GIB = 1024


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """One GPU. ``memory_used_mib``, ``utilization_pct``, ``power_w``: while nothing runs on it.

    ``throttle``: the mask of nvidia-smi's clocks event reasons.
    """

    name: str = "Tesla V100-SXM2-16GB"
    memory_mib: int = 16160
    memory_used_mib: int = 0
    utilization_pct: int = 0
    power_w: float = 43.0
    power_limit_w: float = 300.0
    temperature_c: int = 34
    sm_clock_mhz: int = 1530
    throttle: int = 0
    ecc_uncorrected: int = 0


@dataclass(frozen=True, slots=True)
class ForeignProcess:
    """Somebody else's process on a GPU."""

    gpu_index: int
    user: str
    command: str
    memory_mib: int = 9000


@dataclass(frozen=True, slots=True)
class HostSpec:
    """A machine. ``python``: it has python3; ``flock``: it has flock(1).

    ``topology``: what ``nvidia-smi topo -m`` prints. ``slow_gpus``: see the workloads.
    """

    cpus: int = 48
    memory_mib: int = 384 * MIB_OF_GIB
    gpus: tuple[GpuSpec, ...] = ()
    foreign: tuple[ForeignProcess, ...] = ()
    topology: str = ""
    os: str = "Ubuntu 20.04.6 LTS"
    kernel: str = "5.4.0-200-generic"
    cpu_model: str = "Intel(R) Xeon(R) Gold 6126 CPU @ 2.60GHz"
    driver: str = "450.119.04"
    cuda: str = "11.0"
    interconnects: tuple[str, ...] = ()
    python: bool = True
    flock: bool = True
    disk_mib: int = 900 * MIB_OF_GIB
    load: float = 0.4


def v100_host(gpus: int = 8) -> HostSpec:
    """A host as the DLPerf reports describe theirs: V100s on a hybrid cube mesh, one ConnectX-5."""
    return HostSpec(
        gpus=(GpuSpec(),) * gpus,
        topology=_cube_mesh(gpus),
        interconnects=("mlx5_0 100 Gb/sec (4X EDR) 4: ACTIVE",),
    )


# Links of the first half of a hybrid cube mesh; the second half mirrors it, and each GPU has two
# links to its counterpart.
_QUAD = ("X NV1 NV1 NV2", "NV1 X NV2 NV1", "NV1 NV2 X NV2", "NV2 NV1 NV2 X")
_ACROSS = ("NV2", "NV2", "NV1", "NV1")


def _cube_mesh(gpus: int) -> str:
    rows = []
    for index in range(gpus):
        own, other = _QUAD[index % 4].split(), ["SYS"] * 4
        other[index % 4] = _ACROSS[index % 4]
        cells = (own + other if index < 4 else other + own)[:gpus]
        nic = ("NODE", "NODE", "PIX", "PIX")[index] if index < 4 else "SYS"
        affinity = "0-11,24-35" if index < 4 else "12-23,36-47"
        rows.append([f"GPU{index}", *cells, nic, affinity])
    header = ["", *(f"GPU{index}" for index in range(gpus)), "mlx5_0", "CPU Affinity"]
    nics = [row[gpus + 1] for row in rows]
    lines: Sequence[Sequence[str]] = [header, *rows, ["mlx5_0", *nics, "X", ""]]
    return "\n".join("\t".join(cell.center(6) for cell in line) for line in lines)
