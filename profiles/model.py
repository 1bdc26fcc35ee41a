"""What a profile says: one framework's implementation of one model, its launch and its log.

All models are frozen pydantic models; :mod:`profiles.catalog` reads them from TOML and turns
validation errors into :class:`profiles.errors.ProfileError`. The format is described in
docs/profiles.md, the measuring rules in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from profiles.checks import (
    PATH_GROUPS,
    READING_GROUPS,
    check_case_tag,
    check_condition,
    check_duration,
    check_name,
    check_pattern,
    check_placeholders,
    check_words,
)
from profiles.command import fill_numbers
from profiles.expression import parse_expression

if TYPE_CHECKING:
    from profiles.matrix import Case

Scalar = str | int | float | bool
Name = Annotated[str, AfterValidator(check_name)]
Duration = Annotated[str, AfterValidator(check_duration)]
CaseTag = Annotated[str, AfterValidator(check_case_tag)]
Condition = Annotated[str, AfterValidator(check_condition)]
Command = Annotated[str, AfterValidator(check_words)]
Pattern = Annotated[str, AfterValidator(check_pattern)]
Count = Annotated[int, Field(ge=0, strict=True)]

Statistic = Literal["elapsed", "mean", "median", "trimmed_mean", "harmonic_mean", "last"]

CASE_NAMES = frozenset({"nodes", "gpus_per_node", "gpus"})
"""What a condition can read besides the parameters."""

LAUNCH_NAMES = CASE_NAMES | {
    "arguments",
    "devices",
    "global_batch",
    "host_slots",
    "interface",
    "master_address",
    "master_port",
    "node_address",
    "node_addresses",
    "node_names",
    "node_rank",
    "repeat",
    "run_id",
}
"""Placeholders that the launcher fills in commands, besides parameters and settings."""

# Templates that computed numbers are filled into.
_COMPUTED_IN = ("launch.command", "launch.environment", "launch.mpi_", "launch.workdir", "launch.v")

ANY_CHOICE = "*"
"""Key of ``arguments`` and ``environment`` that stands for every choice without its own entry."""


def scalar_text(value: Scalar) -> str:
    """A parameter's value as it is written in commands, case ids and file names."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Model(BaseModel):
    """A frozen value whose unknown keys are errors and whose numbers are not guessed from text."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Parameter(Model):
    """One axis of the matrix.

    ``environment`` and ``arguments`` are keyed by the choice as text, or by ``*`` for all others.
    ``free``: the operator may also give values of the same kind that are not among the choices.
    """

    choices: tuple[Scalar, ...] = Field(min_length=1)
    default: Scalar
    description: str = ""
    free: bool = False
    environment: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    arguments: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def choice_texts(self) -> tuple[str, ...]:
        return tuple(scalar_text(choice) for choice in self.choices)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        texts = self.choice_texts
        if len(set(texts)) != len(texts):
            raise ValueError(f"choices {list(texts)} repeat a value; list each once")
        if scalar_text(self.default) not in texts:
            raise ValueError(f"default {self.default!r} is not among the choices {list(texts)}")
        for key in (*self.environment, *self.arguments):
            if key not in texts and key != ANY_CHOICE:
                raise ValueError(f"{key!r} is not among the choices {list(texts)}; use one or '*'")
        return self


class Setting(Model):
    """Something the operator must have in place: a data path, an image, a checkout.

    ``check`` is what preflight verifies on every host of a run before anything starts.
    """

    description: str
    default: str | None = None  # None: the operator must give it
    check: Literal["none", "directory", "file", "executable", "image"] = "none"


class Matrix(Model):
    """The cases that are offered; ``exclude`` are conditions, see :mod:`profiles.expression`."""

    cases: tuple[CaseTag, ...] = Field(min_length=1)
    repeats: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1
    exclude: tuple[Condition, ...] = ()


class Container(Model):
    """``image``, ``mounts``, ``options`` and ``workdir`` may hold placeholders."""

    image: str = Field(min_length=1)
    runtime: Literal["docker", "podman", "singularity", "apptainer"] = "docker"
    mounts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    workdir: str | None = None


Launcher = Literal["per_node", "first_node", "mpirun", "torchrun"]


class LaunchVariant(Model):
    """What is launched otherwise for the cases where ``when`` holds.

    ``environment`` is added to the launch's own; ``bare = true`` leaves the container out.
    """

    when: Condition
    launcher: Launcher | None = None
    command: Command | None = None
    workdir: str | None = None
    environment: Mapping[str, str] | None = None
    container: Container | None = None
    mpi_arguments: tuple[str, ...] | None = None
    timeout: Duration | None = None
    stall_timeout: Duration | None = None
    expected: Duration | None = None
    bare: bool = False


class Launch(Model):
    """How ranks get started. ``command`` is split into words, then placeholders are filled.

    ``timeout``: a run is ended after it. ``stall_timeout``: a run without a reading for so long is
    diagnosed and ended. ``lost_limit``: a run whose host cannot be reached for so long has failed.
    ``settle``: idle time on a host before its next run. ``expected``: a run's usual duration, for
    estimates before one was seen. ``mpi_arguments``: more words for ``mpirun`` before the command.
    ``computed``: numbers for placeholders, as arithmetic over the case's parameters and size.
    ``variant``: overrides by case; the first that holds is taken, see :meth:`Profile.launch_for`.
    """

    launcher: Launcher
    command: Command
    stage: tuple[str, ...] = ()
    workdir: str | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    container: Container | None = None
    mpi_arguments: tuple[str, ...] = ()
    timeout: Duration = "2h"
    stall_timeout: Duration = "10m"
    lost_limit: Duration = "15m"
    settle: Duration = "0s"
    expected: Duration | None = None
    computed: Mapping[Name, Condition] = Field(default_factory=dict)
    variant: tuple[LaunchVariant, ...] = ()

    def with_variant(self, variant: LaunchVariant | None) -> Launch:
        """The complete launch: this one with what ``variant`` overrides, without variants."""
        changes: dict[str, object] = {"variant": ()}
        if variant is not None:
            for name in LaunchVariant.model_fields.keys() - {"when", "bare", "environment"}:
                value = getattr(variant, name)
                if value is not None:
                    changes[name] = value
            changes["environment"] = {**self.environment, **(variant.environment or {})}
            if variant.bare:
                changes["container"] = None
        return self.model_copy(update=changes)

    def with_numbers(self, numbers: Mapping[str, int | float]) -> Launch:
        """This launch with the placeholders that ``numbers`` names filled in."""

        def fill(text: str) -> str:
            return fill_numbers(text, numbers)

        changes: dict[str, object] = {
            "computed": {},
            "command": fill(self.command),
            "environment": {name: fill(text) for name, text in self.environment.items()},
            "mpi_arguments": tuple(fill(text) for text in self.mpi_arguments),
        }
        if self.workdir is not None:
            changes["workdir"] = fill(self.workdir)
        return self.model_copy(update=changes)

    def templates(self) -> tuple[tuple[str, str], ...]:
        """Every text that may hold placeholders, with the key it stands under."""
        found = [("command", self.command)]
        found += [(f"environment.{name}", text) for name, text in self.environment.items()]
        if self.workdir is not None:
            found.append(("workdir", self.workdir))
        found += [("stage", text) for text in self.stage]
        if self.container is not None:
            found.append(("container.image", self.container.image))
            found += [("container.mounts", text) for text in self.container.mounts]
            found += [("container.options", text) for text in self.container.options]
            found.append(("container.workdir", self.container.workdir or ""))
        found += [("mpi_arguments", text) for text in self.mpi_arguments]
        for index, variant in enumerate(self.variant):
            for key, text in self.with_variant(variant).templates():
                if (key, text) not in found:
                    found.append((f"variant[{index}].{key}", text))
        return tuple(found)


class Window(Model):
    """Which readings count.

    By reading: ``skip`` from the front, ``drop`` from the end, or the ``last`` n. By step: those
    with ``from_step`` <= step <= ``to_step``. The two ways are not combined.
    """

    skip: Count = 0
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
        if self.last is not None and (self.skip or self.drop):
            raise ValueError("last already says which readings count; remove skip and drop")
        if None not in (self.from_step, self.to_step) and self.from_step > self.to_step:  # type: ignore[operator]
            raise ValueError(f"from_step {self.from_step:g} is after to_step {self.to_step:g}")
        return self


class Trim(Model):
    """How many sorted readings ``trimmed_mean`` drops from each end: the larger of the two."""

    at_least: Count = 5
    fraction: float = Field(default=0.05, ge=0, lt=0.5)


class Metric(Model):
    """A further figure of merit. ``scale`` multiplies what the log says (0.01, 1024 …).

    ``timestamp``: the reading is a point in time in this strptime format, taken in seconds.
    ``span`` is the last reading less the first, so that timestamps give a duration.
    """

    reading: Pattern
    statistic: Literal["last", "first", "max", "min", "mean", "median", "sum", "span"] = "last"
    timestamp: str | None = None
    unit: str = ""
    scale: float = 1.0
    description: str = ""

    @model_validator(mode="after")
    def _groups(self) -> Self:
        check_pattern(self.reading, required={"value"}, known={"value"})
        return self


class FailurePattern(Model):
    """A line that names why a run failed; ``retry``: whether another attempt makes sense."""

    pattern: Pattern
    reason: str = Field(min_length=1)
    retry: Literal["never", "now", "later"] = "never"


class Rule(Model):
    """How readings become one number. Everything can be overridden per case by a variant."""

    reading: Pattern
    kind: Literal["throughput", "step_time"] = "throughput"
    scope: Literal["global", "per_device"] = "global"
    ranks: tuple[int, ...] | Literal["all"] = (0,)
    timestamp: str | None = None  # strptime format of the reading's group "time"
    window: Window = Window()
    statistic: Statistic = "elapsed"
    trim: Trim = Trim()
    summary: str | None = None
    summary_scope: Literal["global", "per_device"] = "global"

    @model_validator(mode="after")
    def _groups(self) -> Self:
        required = {"value"} | ({"step"} if self.window.by_step else set())
        if self.timestamp is not None:
            required.add("time")
        check_pattern(self.reading, required=required, known=READING_GROUPS)
        if self.timestamp is None and "(?P<time>" in self.reading:
            raise ValueError("the reading has a group 'time'; say its format with timestamp = '%…'")
        if self.summary:
            check_pattern(self.summary, required={"value"}, known={"value"})
        return self


class Variant(Model):
    """Overrides of the rule for the cases where ``when`` holds; the first that holds is taken.

    A variant knows the case only, never the file: ``when`` reads parameters and
    ``nodes``, ``gpus_per_node``, ``gpus``. ``summary = ""`` removes the summary.
    """

    when: Condition
    reading: Pattern | None = None
    kind: Literal["throughput", "step_time"] | None = None
    scope: Literal["global", "per_device"] | None = None
    ranks: tuple[int, ...] | Literal["all"] | None = None
    timestamp: str | None = None
    window: Window | None = None
    statistic: Statistic | None = None
    trim: Trim | None = None
    summary: str | None = None
    summary_scope: Literal["global", "per_device"] | None = None


class Measure(Rule):
    """The measuring rule, its variants by case, further figures of merit and named failures.

    ``stated``: how the log itself tells a parameter's value; a log that says something else than
    its case gives a warning, since one of the two is wrong.
    """

    metrics: Mapping[str, Metric] = Field(default_factory=dict)
    stated: Mapping[str, Pattern] = Field(default_factory=dict)
    failure: tuple[FailurePattern, ...] = ()
    variant: tuple[Variant, ...] = ()

    @model_validator(mode="after")
    def _variants(self) -> Self:
        for variant in self.variant:
            self.with_variant(variant)
        return self

    def with_variant(self, variant: Variant | None) -> Rule:
        """The complete rule: this one with what ``variant`` overrides."""
        values = {name: getattr(self, name) for name in Rule.model_fields}
        if variant is not None:
            overrides = {name: getattr(variant, name) for name in Rule.model_fields}
            values |= {name: value for name, value in overrides.items() if value is not None}
        return Rule(**values)


class ImportPaths(Model):
    """How an existing log's path tells its case; see :mod:`profiles.logtree`.

    ``paths`` are regular expressions searched in the path, with ``/`` as separator. Groups: nodes,
    gpus_per_node, gpus, repeat, and the names of parameters; what no group tells is 1 or the
    parameter's default. ``values`` maps what a group caught to a parameter's value
    (``values.precision.fp16 = "amp"``). ``gpus_per_node``: how many devices the nodes had, where a
    path tells only their total.
    """

    paths: tuple[Pattern, ...] = ()
    values: Mapping[str, Mapping[str, Scalar]] = Field(default_factory=dict)
    gpus_per_node: Annotated[int, Field(ge=1, strict=True)] = 8


class Profile(Model):
    """One TOML file of the catalogue. ``devices``: "gpu" where CPU slots would be of no use."""

    name: Name
    framework: str = Field(min_length=1)
    model: str = Field(min_length=1)
    unit: str = "samples/s"
    source: str = ""
    description: str = ""
    devices: Literal["any", "gpu"] = "any"
    parameters: Mapping[Name, Parameter] = Field(default_factory=dict)
    settings: Mapping[Name, Setting] = Field(default_factory=dict)
    matrix: Matrix
    launch: Launch
    measure: Measure
    import_: ImportPaths = Field(default=ImportPaths(), alias="import")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = frozenset(self.parameters)
        for reserved in sorted((names | set(self.settings)) & LAUNCH_NAMES):
            raise ValueError(f"{reserved!r} is filled by the launcher; choose another name")
        for both in sorted(names & set(self.settings)):
            raise ValueError(f"{both!r} is both a parameter and a setting; rename one")
        for index, condition in enumerate(self.matrix.exclude):
            check_condition(condition, where=f"matrix.exclude[{index}]", known=names | CASE_NAMES)
        for index, variant in enumerate(self.measure.variant):
            where = f"measure.variant[{index}].when"
            check_condition(variant.when, where=where, known=names | CASE_NAMES)
        for index, override in enumerate(self.launch.variant):
            where = f"launch.variant[{index}].when"
            check_condition(override.when, where=where, known=names | CASE_NAMES)
        for name, expression in self.launch.computed.items():
            where = f"launch.computed.{name}"
            check_condition(expression, where=where, known=names | CASE_NAMES)
            if name in names | set(self.settings) | LAUNCH_NAMES:
                raise ValueError(f"{where}: {name!r} is taken; choose another name")
        known = names | set(self.settings) | LAUNCH_NAMES
        for key, template in self._templates():
            computed = (
                frozenset(self.launch.computed) if key.startswith(_COMPUTED_IN) else frozenset()
            )
            check_placeholders(template, where=key, known=known | computed)
        for index, path in enumerate(self.import_.paths):
            known_groups = PATH_GROUPS | names
            where = f"import.paths[{index}]"
            check_pattern(path, where=where, required=set(), known=known_groups)
        for name, pattern in self.measure.stated.items():
            where = f"measure.stated.{name}"
            check_pattern(pattern, where=where, required={"value"}, known={"value"})
        for name in sorted(set(self.measure.stated) - names):
            raise ValueError(f"measure.stated.{name}: no parameter is called {name!r}")
        for name in sorted(set(self.import_.values) - names):
            raise ValueError(f"import.values.{name}: no parameter is called {name!r}")
        return self

    def launch_for(self, case: Case) -> Launch:
        """How the case is launched: the first variant that holds, computed numbers filled in.

        Raises
        ------
        ProfileError: a condition or an arithmetic expression does not fit the case's values.
        """
        values = case.values()
        held = (v for v in self.launch.variant if parse_expression(v.when).holds(values))
        launch = self.launch.with_variant(next(held, None))
        computed = launch.computed.items()
        numbers = {name: parse_expression(text).number(values) for name, text in computed}
        return launch.with_numbers(numbers) if numbers else launch

    def _templates(self) -> Sequence[tuple[str, str]]:
        found = [(f"launch.{key}", text) for key, text in self.launch.templates()]
        for name, parameter in self.parameters.items():
            for choice, words in parameter.arguments.items():
                found += [(f"parameters.{name}.arguments.{choice}", word) for word in words]
            for choice, environment in parameter.environment.items():
                where = f"parameters.{name}.environment.{choice}"
                found += [(f"{where}.{key}", text) for key, text in environment.items()]
        return found
