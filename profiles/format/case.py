"""A case: one point of a profile's matrix, on so many nodes with so many devices each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from profiles.case_tag import format_tag, parse_tag
from profiles.errors import SelectionError
from profiles.scalars import Scalar, scalar_text

CLUSTER = "cluster"
"""Which of a queue's clusters a case is for, where there are several: a parameter of no profile."""

GLOBAL_BATCH = "global_batch"
"""In place of ``batch_size``: samples of all devices per step, the same whatever their number."""

SHORT = ("batch_size", "precision")
"""Parameters whose values say themselves what they are: b128, fp32."""


def in_order(names: Iterable[str]) -> list[str]:
    """Parameters as every name of a case has them, in whatever order they were recorded:
    :data:`SHORT`, the others by name, and last :data:`GLOBAL_BATCH` and :data:`CLUSTER`."""
    last = (GLOBAL_BATCH, CLUSTER)
    return sorted(names, key=lambda name: (name not in SHORT, name in last, name))


@dataclass(frozen=True, eq=False)
class Case:
    """One point of the matrix; equal and hashed by :attr:`key`.

    ``parameters`` are in the profile's order and hold a value for every parameter; last comes
    :data:`GLOBAL_BATCH` where ``batch_size`` was told by it, strong scaling, and :data:`CLUSTER`.
    """

    profile: str
    nodes: int
    gpus_per_node: int
    parameters: Mapping[str, Scalar]

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Case) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def cluster(self) -> str:
        """Empty: there is but one."""
        return self.text(CLUSTER)

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def tag(self) -> str:
        return format_tag(self.nodes, self.gpus_per_node)

    @property
    def key(self) -> str:
        """Stable id, such as ``oneflow-resnet50/2n8g/batch_size=128,precision=fp32``."""
        pairs = ",".join(f"{name}={self.text(name)}" for name in sorted(self.parameters))
        return "/".join(part for part in (self.profile, self.tag, pairs) if part)

    @property
    def label(self) -> str:
        """Short name for people: ``2n8g b128 fp32 compile=on``, see :func:`in_order`."""
        parts = [self.tag, *(self.value_label(name) for name in in_order(self.parameters))]
        return " ".join(parts)

    def value_label(self, name: str) -> str:
        """``b128``, ``fp32``, ``compile=on``: a parameter that it has, as in :attr:`label`."""
        text = self.text(name)
        return {"batch_size": f"b{text}", "precision": text}.get(name, f"{name}={text}")

    @property
    def batch_size(self) -> int | None:
        """Samples per device and step; None where the profile has no parameter ``batch_size``."""
        value = self.parameters.get("batch_size")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def global_batch(self) -> int | None:
        return None if self.batch_size is None else self.batch_size * self.gpus

    @property
    def precision(self) -> str | None:
        value = self.parameters.get("precision")
        return None if value is None else scalar_text(value)

    def text(self, name: str) -> str:
        """The parameter's value as text; empty when the case has none of that name."""
        return scalar_text(self.parameters[name]) if name in self.parameters else ""

    def values(self) -> dict[str, Scalar]:
        """What conditions and placeholders can read: the parameters and the case's size."""
        size: dict[str, Scalar] = {
            "nodes": self.nodes,
            "gpus_per_node": self.gpus_per_node,
            "gpus": self.gpus,
        }
        if self.global_batch is not None:
            size["global_batch"] = self.global_batch
        return {**self.parameters, **size}


def read_key(key: str) -> tuple[str, int, int]:
    """The profile, the nodes and the devices per node in :attr:`Case.key`.

    Raises
    ------
    SelectionError: it is no such key.
    """
    profile, tag, *_parameters = [*key.split("/"), ""]
    if not profile or not tag:
        raise SelectionError(
            f"{key!r} is not the key of a case", remedy="such as cpu-smoke/1n2g/batch_size=16"
        )
    return profile, *parse_tag(tag)
