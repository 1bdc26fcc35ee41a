"""A plan as scripts for the queue that gives its hosts: they run where nothing of ours is
installed, and ``import`` reads the logs that they write."""

from __future__ import annotations

import io
import secrets
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backends.campaign.folder.create import planned_run
from backends.campaign.plan.plan import Plan, PlannedCase, want_of
from backends.campaign.plan.profile_in_campaign import ProfileSetup
from backends.campaign.record.run_changes import record_of
from backends.campaign.run.factory import RunFactory
from backends.engines.choice import plain_campaign, plain_job_for, plain_submission
from backends.engines.plain_job import PlainJob
from backends.hosts.host_facts import HostSnapshot
from backends.inventory.queue import Queue
from backends.launchers.container import removal
from backends.launchers.symbols import (
    PORT,
    RUN_ID,
    symbol,
    symbolic_sites,
    with_devices_together,
)
from profiles.cleantext import clean_text
from profiles.counted import counted
from profiles.errors import SelectionError
from profiles.logs.own_log_names import log_path, safe_name

_README = """\
# {runs} for {engine}, written by dlperf-tui

Hand them in, in this directory, which all nodes have to see: `sh submit.sh` (options of sbatch may
follow). Each script in `*/jobs` is one run; it needs nothing of dlperf-tui.{one_job}
Read the logs with:

{imports}"""
_ONE_JOB = """
`campaign.sh` does all of them one after another in one job, which is what is handed in."""


@dataclass(frozen=True, slots=True)
class Export:
    """What is written. ``nodes``: those of the queue."""

    plan: Plan
    setups: Mapping[str, ProfileSetup]
    factory: RunFactory
    queue: Queue
    nodes: Sequence[HostSnapshot]

    def write(self, directory: Path) -> tuple[Path, ...]:
        """Every script in the campaign's order, and what hands them all in, last.

        Raises
        ------
        SelectionError: nothing can run, or ``directory`` holds something or cannot be written;
            nothing is left of it then.
        """
        if not self.plan.cases:
            raise SelectionError("nothing can run", remedy="choose other cases or hosts")
        if self.plan.selection.auto is not None:
            what = "scripts are of a fixed number of repeats"
            raise SelectionError(what, where="--export", remedy="give --repeats a number")
        try:
            if directory.exists() and any(directory.iterdir()):
                raise SelectionError(
                    "it is not empty", where=str(directory), remedy="give a new directory"
                )
            paths = self._write(directory.resolve())
        except OSError as error:
            reason = error.strerror or str(error)
            raise SelectionError(
                f"cannot be written: {reason}", where=str(directory), remedy="give another"
            ) from error
        return tuple(directory / path for path in paths)

    def _write(self, directory: Path) -> list[str]:
        """Apart, and moved to its place when it is whole."""
        new = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}")
        try:
            new.mkdir()
            paths = self._fill(new)
            new.rename(directory)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return paths

    def _fill(self, new: Path) -> list[str]:
        for setup in self.setups.values():
            self._profile(new / safe_name(setup.profile.name), setup)
        runs = []
        for job, planned in self._jobs():
            want = want_of(planned, pack=self.plan.selection.pack)
            _executable(new / job.path, plain_job_for(job, want, self.queue, self.nodes))
            runs.append((want, job.path))
        handed_in = paths = [path for _, path in runs]
        if self.queue.one_job:
            _executable(new / "campaign.sh", plain_campaign(runs, self.queue, self.nodes))
            handed_in, paths = ["campaign.sh"], [*paths, "campaign.sh"]
        _executable(new / "submit.sh", plain_submission(self.queue, handed_in))
        (new / "README.md").write_text(self._readme(len(runs)), encoding="utf-8")
        return [*paths, "submit.sh"]

    def _profile(self, folder: Path, setup: ProfileSetup) -> None:
        """Its text as it is now, and the files that it ships."""
        for name in ("jobs", "stage"):
            (folder / name).mkdir(parents=True)
        (folder / "profile.toml").write_bytes(setup.source.text)
        for files in setup.stage:
            with tarfile.open(fileobj=io.BytesIO(files.tree.archive)) as archive:
                # Python before 3.11.4, such as Debian 12's, has no filters.
                archive.extraction_filter = getattr(tarfile, "data_filter", None)
                archive.extractall(folder / "stage")  # noqa: S202 - made by this process

    def _jobs(self) -> Iterator[tuple[PlainJob, PlannedCase]]:
        runs, repeats = self.plan.runs(), len(self.plan.rounds())
        for number, (repeat, planned) in enumerate(runs, 1):
            name = f"{number:0{len(str(len(runs)))}}"
            yield self._job(name, planned, repeat, profiled=number > repeats), planned

    def _job(self, number: str, planned: PlannedCase, repeat: int, *, profiled: bool) -> PlainJob:
        profile, case = planned.profile, planned.case
        folder = safe_name(profile.name)
        which = "profiled" if profiled else f"#{repeat}"
        label = f"{profile.name} {case.label} {which}"
        has_gpus = any(snapshot.capacity.gpus for snapshot in self.nodes)
        gpus = profile.devices == "gpu" or (has_gpus and not profile.on_cpus)
        sites = symbolic_sites(self.queue.login, case, gpus=gpus)
        record = record_of(planned_run(planned, repeat, symbol(RUN_ID), 0.0))
        commands = self.factory.commands(replace(record, profiled=profiled), sites, symbol(PORT))
        log = log_path(profile, case, repeat, attempt=1, profiled=profiled)
        return PlainJob(
            name=f"{folder}-{number}",
            title=" ".join(clean_text(label).split()),
            path=f"{folder}/jobs/{number}-{safe_name(f'{case.tag} {which}')}.sh",
            log=f"{folder}/{log}",
            stage=f"{folder}/stage",
            work=f"{folder}/work",
            commands=tuple(with_devices_together(one, case.gpus_per_node) for one in commands),
            remove=removal(profile.launch_for(case).container),
        )

    def _readme(self, count: int) -> str:
        names = [safe_name(name) for name in self.setups]
        imports = "".join(
            f"    dlperf-tui import -p {name}/profile.toml {name}/logs -o {name}-campaign\n"
            for name in names
        )
        runs = counted(count, "run")
        one_job = _ONE_JOB if self.queue.one_job else ""
        engine = self.queue.engine
        return _README.format(runs=runs, engine=engine, one_job=one_job, imports=imports)


def _executable(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | (path.stat().st_mode & 0o444) >> 2)
