"""What a profile says: one framework's implementation of one model, its launch and its log.

All models are frozen pydantic models; :mod:`profiles.format.catalog` reads them from TOML and turns
validation errors into :class:`profiles.errors.ProfileError`. The format is described in
docs/profiles.md, the measuring rules in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from profiles.case_tag import parse_tag
from profiles.durations import is_duration
from profiles.format.case import Case
from profiles.format.expression import parse_expression
from profiles.format.field_types import (
    CaseTag,
    Condition,
    Model,
    Name,
    Pattern,
)
from profiles.format.job_keys import JobKeys
from profiles.format.launch_section import Launch
from profiles.format.measure_section import (
    Explain,
    Measure,
    OwnTimes,
)
from profiles.format.run_fact_names import FACTS, NUMBERS
from profiles.format.validators import (
    PATH_GROUPS,
    MistakeAt,
    check_condition,
    check_pattern,
    check_placeholders,
)
from profiles.format.workload_section import OTHERS, PRECISION, Workload
from profiles.scalars import Scalar, scalar_text
from profiles.schema_mistakes import Key

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

ANY_CHOICE = "*"
"""Key of ``arguments`` and ``environment`` that stands for every choice without its own entry."""


class Parameter(Model):
    """One axis of the matrix.

    ``environment`` and ``arguments`` are keyed by the choice as text, or by ``*`` for all others.
    ``free``: the operator may also give values of the same kind that are not among the choices.
    ``fact``: what a log that states it calls it, where that is a number of :data:`NUMBERS`.
    """

    choices: tuple[Scalar, ...] = Field(min_length=1, max_length=1000)
    default: Scalar
    description: str = ""
    free: bool = False
    fact: str = ""
    environment: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    arguments: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def choice_texts(self) -> tuple[str, ...]:
        return tuple(scalar_text(choice) for choice in self.choices)

    @cached_property
    def by_text(self) -> Mapping[str, Scalar]:
        """The choices by their texts."""
        return dict(zip(self.choice_texts, self.choices, strict=True))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        texts = self.choice_texts
        if len(set(texts)) != len(texts):
            raise ValueError(f"choices {list(texts)} repeat a value; list each once")
        if scalar_text(self.default) not in texts:
            raise ValueError(f"default {self.default!r} is not among the choices {list(texts)}")
        if self.fact and self.fact not in NUMBERS:
            raise ValueError(f"no fact {self.fact!r}; known: {', '.join(sorted(NUMBERS))}")
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
    """The cases that are offered; ``exclude``: conditions of :mod:`profiles.format.expression`."""

    cases: tuple[CaseTag, ...] = Field(min_length=1, max_length=100)
    repeats: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1
    exclude: tuple[Condition, ...] = ()


class Beside(Model):
    """A number in a JSON file that lies beside a log; ``path``: its keys, joined by dots."""

    file: str = Field(min_length=1, pattern=r"^[^/\\]+$")
    path: str = Field(min_length=1)


class ImportPaths(Model):
    """How an existing log's path tells its case; see :mod:`profiles.logs.log_paths`.

    ``paths`` are regular expressions searched in the path, with ``/`` as separator. Groups: nodes,
    gpus_per_node, gpus, repeat, and the names of parameters; what no group tells is 1 or the
    parameter's default, unless the log states it. ``values`` maps what a group caught to a
    parameter's value (``values.precision.fp16 = "amp"``). ``gpus_per_node``: how many devices the
    nodes had, where a path tells only their total. ``first_repeat``: the number that paths give
    the first repeat. ``beside``: metrics of a run that stand in files beside its log, by name.
    """

    paths: tuple[Pattern, ...] = ()
    values: Mapping[str, Mapping[str, Scalar]] = Field(default_factory=dict)
    gpus_per_node: Annotated[int, Field(ge=1, strict=True)] = 8
    first_repeat: Annotated[int, Field(ge=0, le=1, strict=True)] = 1
    beside: Mapping[Name, Beside] = Field(default_factory=dict)


class Profile(Model):
    """One TOML file of the catalogue. ``devices``: "gpu" where CPU slots would be of no use, "cpu"
    where no GPU is used, whatever the host has."""

    name: Name
    framework: str = Field(min_length=1)
    model: str = Field(min_length=1)
    unit: str = "samples/s"
    source: str = ""
    description: str = ""
    devices: Literal["any", "gpu", "cpu"] = "any"
    parameters: Mapping[Name, Parameter] = Field(default_factory=dict)
    settings: Mapping[Name, Setting] = Field(default_factory=dict)
    matrix: Matrix
    launch: Launch
    measure: Measure
    explain: Explain | None = None
    ranks: OwnTimes | None = None
    workload: Workload | None = None
    slurm: JobKeys = JobKeys()
    import_: ImportPaths = Field(default=ImportPaths(), alias="import")

    @property
    def job_keys(self) -> tuple[tuple[str, Scalar | tuple[str, ...] | None], ...]:
        """What ``[slurm]`` says, by key."""
        return tuple(self.slurm.model_dump(exclude_unset=True).items())

    def settings_with(self, given: Mapping[str, str]) -> dict[str, str]:
        """Every setting as it is given, else its default; empty where it has none."""
        return {name: given.get(name) or s.default or "" for name, s in self.settings.items()}

    @property
    def on_cpus(self) -> bool:
        """GPUs are none of its business."""
        return self.devices == "cpu"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = frozenset(self.parameters)
        for reserved in sorted((names | set(self.settings)) & LAUNCH_NAMES):
            raise ValueError(f"{reserved!r} is filled by the launcher; choose another name")
        for both in sorted(names & set(self.settings)):
            raise ValueError(f"{both!r} is both a parameter and a setting; rename one")
        for at, condition in self._conditions():
            # A number need not be computable for every case; that is told when one is planned.
            tried = () if at[:2] == ("launch", "computed") else self._tried()
            check_condition(condition, at=at, known=names | CASE_NAMES, tried=tried)
        known = names | set(self.settings) | LAUNCH_NAMES
        for name in sorted(known & set(self.launch.computed)):
            at = ("launch", "computed", name)
            raise MistakeAt(at, f"{name!r} is taken; choose another name")
        for template in self.launch.templates():
            filled = known | set(self.launch.computed) if template.takes_numbers else known
            check_placeholders(template.text, at=("launch", *template.at), known=filled)
        for at, text in self._choices():  # part of the case, wherever it is launched
            check_placeholders(text, at=at, known=names | CASE_NAMES | {"global_batch"})
        for at, text in self._expectations():
            check_condition(text, at=at, known=names | set(self.settings) | CASE_NAMES)
        for index, path in enumerate(self.import_.paths):
            at = ("import", "paths", index)
            check_pattern(path, at=at, required=set(), known=PATH_GROUPS | names)
        for at, text in self._arithmetic():
            check_condition(text, at=at, known=names | CASE_NAMES | NUMBERS)
        for name in sorted(set(self.measure.stated) - names - FACTS):
            known_facts = ", ".join(sorted(FACTS))
            what = f"no parameter is called {name!r}; facts are {known_facts}"
            raise MistakeAt(("measure", "stated", name), what)
        for name in sorted(set(self.import_.values) - names):
            raise MistakeAt(("import", "values", name), f"no parameter is called {name!r}")
        if self.workload is not None:
            self._check_workload(self.workload)
        return self

    def _check_workload(self, workload: Workload) -> None:
        wheres: list[tuple[Key, Mapping[str, Scalar]]] = [(("workload", "where"), workload.where)]
        for number, variant in enumerate(workload.variant):
            wheres.append((("workload", "variant", number, "where"), variant.where))
        for way, where in wheres:
            for name in sorted(set(where) - set(self.parameters) - set(self.settings)):
                raise MistakeAt((*way, name), f"no parameter or setting is called {name!r}")
        precisions = self.parameters.get(PRECISION)
        choices = (*(precisions.choice_texts if precisions else ()), OTHERS)
        for choice in workload.arithmetic:
            if choice not in choices:
                at = ("workload", "arithmetic", choice)
                raise MistakeAt(at, f"no choice of the parameter {PRECISION!r}")

    def _arithmetic(self) -> Iterator[tuple[Key, str]]:
        """What is reckoned from the case and the facts that its log states."""
        yield ("measure", "work"), self.measure.work
        for number, variant in enumerate(self.measure.variant):
            if variant.work is not None:
                yield ("measure", "variant", number, "work"), variant.work
        for name, given in self.measure.computed.items():
            for text in (given,) if isinstance(given, str) else given:
                yield ("measure", "computed", name), text

    def _expectations(self) -> Iterator[tuple[Key, str]]:
        """How long runs are expected to take, where that is arithmetic."""
        found: list[tuple[Key, str | None]] = [(("launch", "expected"), self.launch.expected)]
        for number, variant in enumerate(self.launch.variant):
            found.append((("launch", "variant", number, "expected"), variant.expected))
        for at, text in found:
            if text is not None and not is_duration(text):
                yield at, text

    def _conditions(self) -> list[tuple[Key, str]]:
        """Every expression over a case, with the way to it."""
        found: list[tuple[Key, str]] = []
        found += [(("matrix", "exclude", n), text) for n, text in enumerate(self.matrix.exclude)]
        for section, variants in (
            ("measure", [variant.when for variant in self.measure.variant]),
            ("launch", [variant.when for variant in self.launch.variant]),
            ("workload", [v.when for v in self.workload.variant] if self.workload else []),
        ):
            found += [((section, "variant", n, "when"), text) for n, text in enumerate(variants)]
        computed = self.launch.computed.items()
        return found + [(("launch", "computed", name), text) for name, text in computed]

    @cached_property
    def defaults(self) -> Mapping[str, Scalar]:
        """Of each parameter."""
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def _tried(self) -> list[dict[str, Scalar]]:
        """Values that conditions are tried with: the defaults at the matrix' own sizes."""
        sizes = map(parse_tag, self.matrix.cases)
        return [
            {**self.defaults, "nodes": nodes, "gpus_per_node": gpus, "gpus": nodes * gpus}
            for nodes, gpus in sizes
        ]

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

    def _choices(self) -> Iterator[tuple[Key, str]]:
        """Every text that a choice adds, with the way to it."""
        for name, parameter in self.parameters.items():
            for choice, words in parameter.arguments.items():
                for word in words:
                    yield ("parameters", name, "arguments", choice), word
            for choice, environment in parameter.environment.items():
                for key, text in environment.items():
                    yield ("parameters", name, "environment", choice, key), text
