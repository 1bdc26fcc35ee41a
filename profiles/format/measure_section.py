"""How a log becomes a number: the ``[measure]`` section of a profile, see docs/statistics.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from profiles.format.case import GLOBAL_BATCH
from profiles.format.field_types import Condition, Count, Model, Pattern
from profiles.format.line_reading import LineReading, Where
from profiles.format.run_fact_names import NUMBERS
from profiles.format.validators import (
    OWN_TIME_GROUPS,
    RANK_GROUPS,
    READING_GROUPS,
    MistakeAt,
    check_pattern,
)

Statistic = Literal["elapsed", "mean", "median", "trimmed_mean", "harmonic_mean", "last"]
Kind = Literal["throughput", "step_time", "duration", "bandwidth"]
Scope = Literal["global", "per_device", "per_node"]
Cumulative = Literal["mean", "total"]
END = "end"
"""What tells the readings that can be the last of a span."""
Ways = Annotated[tuple[Condition, ...], Field(min_length=1)]


class Window(Model):
    """Which readings count.

    By reading: ``skip`` from the front, ``drop`` from the end, or the ``last`` n. By step: those
    with ``from_step`` <= step <= ``to_step``. The two ways are not combined. ``keep_only``: a log's
    only reading counts, though ``skip`` would leave it out.
    """

    skip: Count = 0
    keep_only: bool = False
    drop: Count = 0
    last: Annotated[int, Field(ge=1, strict=True)] | None = None
    from_step: float | None = None
    to_step: float | None = None

    @property
    def by_step(self) -> bool:
        return self.from_step is not None or self.to_step is not None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.by_step and (self.skip or self.drop or self.last):
            raise ValueError("a window is given by step or by reading; remove one of the two")
        if self.keep_only and not self.skip:
            raise ValueError("keep_only is about what skip leaves out; add skip")
        if self.last is not None and (self.skip or self.drop):
            raise ValueError("last already says which readings count; remove skip and drop")
        if None not in (self.from_step, self.to_step) and self.from_step > self.to_step:  # type: ignore[operator]
            raise ValueError(
                f"from_step {self.from_step:.12g} is after to_step {self.to_step:.12g}"
            )
        return self


class Trim(Model):
    """How many sorted readings ``trimmed_mean`` drops from each end: the larger of the two."""

    at_least: Count = 5
    fraction: float = Field(default=0.05, ge=0, lt=0.5)


class Metric(LineReading):
    """A further figure of merit. ``scale`` multiplies what the log says (0.01, 1024 …).

    ``timestamp``: the reading is a point in time in this strptime format, taken in seconds.
    ``span`` is the last reading less the first, so that timestamps give a duration; where the
    reading has an ``end`` too, only one in which that is not empty can be the last. A reading that
    has a ``step`` too makes a metric of each, ``NAME_at_<step>``: a curve over sizes.
    """

    statistic: Literal["last", "first", "max", "min", "mean", "median", "sum", "span"] = "last"
    timestamp: str | None = None
    unit: str = ""
    scale: float = 1.0
    description: str = ""

    @property
    def is_marked(self) -> bool:
        """A span whose last reading is marked as such."""
        return END in self.names

    @property
    def is_curve(self) -> bool:
        """A value for each step."""
        return "step" in self.names

    @model_validator(mode="after")
    def _groups(self) -> Self:
        ends = {END} if self.statistic == "span" else set()
        self.check_fields(required={"value"}, known={"value", "step"} | ends)
        return self


class Stated(LineReading):
    """How the log itself tells a parameter's value or a fact of the run."""

    @model_validator(mode="before")
    @classmethod
    def _pattern_alone(cls, given: object) -> object:
        return {"reading": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _groups(self) -> Self:
        self.check_fields(required={"value"}, known={"value"})
        return self


class FailurePattern(Model):
    """A line that names why a run failed; ``retry``: whether another attempt makes sense."""

    pattern: Pattern
    example: str = ""
    reason: str = Field(min_length=1)
    retry: Literal["never", "now", "later"] = "never"


class Rule(LineReading):
    """How readings become one number. Everything can be overridden per case by a variant.

    ``scale`` multiplies what the log says: 0.001 where it says milliseconds; where it says now one
    and now the other, the group ``unit`` holds ``s``, ``ms`` or ``us``. ``cumulative``: each
    reading is the mean, or the total, since the run began, and is turned back into the steps since
    the reading before. ``work``: what a step does, in the unit's terms, as arithmetic over the case
    and what the log states: ``"global_batch * sequence_length"`` gives tokens/s of step times.
    """

    kind: Kind = "throughput"
    scope: Scope = "global"
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    cumulative: Cumulative | None = None
    work: Condition = GLOBAL_BATCH
    ranks: tuple[int, ...] | Literal["all"] = (0,)
    rank_prefix: str | None = None  # pattern with a group "rank"; None: mpirun's
    timestamp: str | None = None  # strptime format of the reading's "time"
    window: Window = Window()
    statistic: Statistic = "elapsed"
    trim: Trim = Trim()
    summary: str | None = None
    summary_example: str = ""
    summary_scope: Scope = "global"

    @property
    def has_steps(self) -> bool:
        return "step" in self.names

    @property
    def lower_is_faster(self) -> bool:
        """The readings are times, not speeds."""
        return self.kind in ("step_time", "duration")

    @property
    def needs_steps(self) -> bool:
        """Readings without a step cannot be used."""
        return self.window.by_step or self.cumulative is not None

    @model_validator(mode="after")
    def _groups(self) -> Self:
        required = {"value"} | ({"step"} if self.needs_steps else set())
        if self.timestamp is not None:
            required.add("time")
        self.check_fields(required=required, known=READING_GROUPS)
        if self.timestamp is None and "time" in self.names:
            raise ValueError("the reading has a 'time'; say its format with timestamp = '%…'")
        plain = self.lower_is_faster and self.timestamp is None and not self.paths
        if "unit" in self.names and not plain:
            raise ValueError("a 'unit' is a group beside a duration, in a reading without time")
        if self.rank_prefix is not None:
            check_pattern(self.rank_prefix, required={"rank"}, known={"rank"})
        if self.summary:
            check_pattern(self.summary, required={"value"}, known={"value"})
        return self


class Explain(Model):
    """One more run of a case, which counts for nothing and tells where each rank's time goes.

    ``environment``: what tells the workload so. ``reading``: its line of a rank, in any host's log,
    with seconds per step; see :class:`profiles.throughput.rank_times.RankTime`.
    """

    environment: Mapping[str, str] = Field(default_factory=dict)
    reading: Pattern
    example: str = ""

    @model_validator(mode="after")
    def _groups(self) -> Self:
        check_pattern(self.reading, required=RANK_GROUPS, known=RANK_GROUPS)
        return self


class OwnTimes(Model):
    """The line by which a rank tells, in any host's log, the time it takes of its own per step:
    from the end of one exchange to where it is ready for the next. ``scale``: to seconds."""

    reading: Pattern
    example: str = ""
    scale: Annotated[float, Field(gt=0)] = 1.0

    @model_validator(mode="after")
    def _groups(self) -> Self:
        check_pattern(self.reading, required=OWN_TIME_GROUPS, known=OWN_TIME_GROUPS | {"step"})
        return self


class Variant(Model):
    """Overrides of the rule for the cases where ``when`` holds; the first that holds is taken.

    A variant knows the case only, never the file: ``when`` reads parameters and
    ``nodes``, ``gpus_per_node``, ``gpus``. ``summary = ""`` removes the summary.
    """

    when: Condition
    reading: Pattern | None = None
    example: str | None = None
    paths: Mapping[str, str] | None = None
    where: Where | None = None
    kind: Kind | None = None
    scope: Scope | None = None
    scale: float | None = None
    cumulative: Cumulative | None = None
    work: Condition | None = None
    ranks: tuple[int, ...] | Literal["all"] | None = None
    rank_prefix: str | None = None
    timestamp: str | None = None
    window: Window | None = None
    statistic: Statistic | None = None
    trim: Trim | None = None
    summary: str | None = None
    summary_example: str | None = None
    summary_scope: Scope | None = None


class Measure(Rule):
    """The measuring rule, its variants by case, further figures of merit and named failures.

    ``stated``: how the log itself tells a parameter's value, or a fact of
    :mod:`profiles.format.run_fact_names`. A log that says something else than its case gives a
    warning: one of the two is wrong. ``computed``: facts that follow from others, where no line
    states them. ``required``: a metric without which a run has failed, and with which it has not,
    whether or not it has a throughput.
    """

    metrics: Mapping[str, Metric] = Field(default_factory=dict)
    stated: Mapping[str, Stated] = Field(default_factory=dict)
    computed: Mapping[str, Condition | Ways] = Field(default_factory=dict)
    required: str = ""
    failure: tuple[FailurePattern, ...] = ()
    variant: tuple[Variant, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _made_now = self.rules  # so that a variant's mistake is told with the profile's own
        if self.required and self.required not in self.metrics:
            raise MistakeAt(("required",), f"no metric is called {self.required!r}")
        for name in sorted(set(self.computed) - NUMBERS):
            raise MistakeAt(
                ("computed", name), f"no such fact; known: {', '.join(sorted(NUMBERS))}"
            )
        return self

    @cached_property
    def rules(self) -> tuple[tuple[str, Rule], ...]:
        """Complete rules with their conditions, in order; the last one's is empty: always."""
        variants = [(variant.when, self._with(variant)) for variant in self.variant]
        return (*variants, ("", self._with(None)))

    def _with(self, variant: Variant | None) -> Rule:
        """The complete rule: this one with what ``variant`` overrides."""
        values = {name: getattr(self, name) for name in Rule.model_fields}
        if variant is not None:
            overrides = {name: getattr(variant, name) for name in Rule.model_fields}
            overrides = {name: value for name, value in overrides.items() if value is not None}
            # An example is of the pattern beside it.
            if overrides.keys() & {"reading", "paths", "where"}:
                values["example"] = ""
            if "summary" in overrides:
                values["summary_example"] = ""
            values |= overrides
        return Rule(**values)
