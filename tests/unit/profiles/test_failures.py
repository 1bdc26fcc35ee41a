"""Why a run failed: the reason, the line that shows it, and whether to try again."""

from __future__ import annotations

import pytest

from profiles.logs.failures import BUILT_IN, IN_FP8, REMEDIES, FailureScanner
from profiles.logs.log_parser import LogParser
from tests.unit.profiles.builders import READING, case, parse, profile


def reasons(log: str | bytes) -> list[str]:
    return [failure.reason for failure in parse(profile(), log).failures]


@pytest.mark.parametrize(
    ("line", "reason", "retry"),
    [
        ("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", "out of GPU memory", "never"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "out of GPU memory", "never"),
        ("F  Check failed: CUDA_ERROR_OUT_OF_MEMORY", "out of GPU memory", "never"),
        ("OSError: [Errno 28] No space left on device: '/data'", "disk full", "never"),
        ("bash: line 1: python9: command not found", "command not found", "never"),
        ("sh: 1: ./local_run.sh: not found", "command not found", "never"),
        ("ModuleNotFoundError: No module named 'oneflow'", "Python module missing", "never"),
        ("ImportError: No module named paddle", "Python module missing", "never"),
        ("cat: /data/x: No such file or directory", "file missing", "never"),
        ("mkdir: cannot create directory '/x': Permission denied", "permission denied", "never"),
        ("OSError: [Errno 98] Address already in use", "port in use", "now"),
        ("node3: NCCL WARN Net : Connect failed", "NCCL failed", "now"),
        ("ncclSystemError: System call failed", "NCCL failed", "now"),
        ("connect: Connection refused", "another host could not be reached", "later"),
        ("Illegal instruction (core dumped)", "illegal instruction", "never"),
        ("[node1:1234] *** Process received signal SIGSEGV", "segmentation fault", "now"),
        ("Killed", "killed", "later"),
        ("terminate called after std::bad_alloc", "out of host memory", "never"),
        ("Unable to find image 'rn50:latest' locally", "container image missing", "never"),
        ("Error: localhost/nowhere:9: image not known", "container image missing", "never"),
        (
            "slurmstepd: error: pyxis: failed to import docker image",
            "container image missing",
            "never",
        ),
        ("train.py: error: unrecognized arguments: --amp", "command line not understood", "never"),
        ("RuntimeError: no kernel image is available", "driver or GPU does not fit the framework",
         "never"),
        ("ValueError: batch must be positive", "Python exception", "never"),
        ("[rank1]: torch.distributed.DistBackendError: it broke", "Python exception", "never"),
        ("[default3]:ValueError: it broke", "Python exception", "never"),
        (" 3: ValueError: it broke", "Python exception", "never"),
        ("[1,3]<stderr>:ValueError: it broke", "Python exception", "never"),
    ],
)  # fmt: skip
def test_known_failures_are_named_with_their_line(line: str, reason: str, retry: str) -> None:
    first = parse(profile(), f"some output\n{line}\nmore\n").failures[0]
    assert (first.reason, first.evidence_line, first.retry) == (reason, line, retry)


def test_a_healthy_log_has_no_failure() -> None:
    assert reasons("iter 20, samples/s: 3\nerror rate: 0.3\nTop-1 error 23.5\nall good\n") == []


def test_only_lines_that_hold_a_word_of_a_pattern_are_searched() -> None:
    assert all(known.hints for known in (*BUILT_IN, IN_FP8))


def test_the_specific_reason_stands_before_what_it_also_looks_like() -> None:
    log = "Traceback (most recent call last):\n  File x\nRuntimeError: CUDA out of memory\nKilled\n"
    assert reasons(log) == ["out of GPU memory", "killed", "Python exception"]


def test_the_profiles_own_failures_come_first() -> None:
    it = profile(
        READING + "\n[[measure.failure]]\npattern = 'data .* broken'\nreason = 'bad data'\n"
        "retry = 'later'\n"
    )
    found = parse(it, "CUDA out of memory\ndata shard 3 broken\n").failures
    assert [(failure.reason, failure.retry) for failure in found] == [
        ("bad data", "later"),
        ("out of GPU memory", "never"),
    ]


def test_the_first_evidence_counts_and_is_safe_to_show() -> None:
    log = b"\x1b[31mA: Permission \x1b[0mdenied\x07\x1b]52;c;x\x07\nB: Permission denied\n"
    (found,) = parse(profile(), log).failures
    assert found.evidence_line == "A: Permission denied\ufffd"


def test_failures_can_be_asked_for_while_the_log_grows() -> None:
    it = profile()
    parser = LogParser(it, case(it))
    parser.feed(b"x\n")
    assert not list(parser.failures)
    parser.feed(b"Permission denied\n")
    assert [failure.reason for failure in parser.failures] == ["permission denied"]


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_only_the_head_and_the_tail_are_searched_whatever_the_chunking(size: int) -> None:
    lines = [b"%03d Permission denied" % 0] + [b"%03d nothing" % n for n in range(1, 40)]
    lines[20] = b"020 No space left on device"
    lines[38] = b"038 Address already in use"
    log = b"\n".join(lines) + b"\n"
    scanner = FailureScanner(BUILT_IN, head=40, tail=60)
    pending = b""
    for start in range(0, len(log), size):
        pending += log[start : start + size]
        end = pending.rfind(b"\n") + 1
        scanner.feed(pending[:end])
        pending = pending[end:]
    assert [failure.reason for failure in scanner.failures] == ["port in use", "permission denied"]


def test_every_built_in_failure_can_be_found_by_its_hints() -> None:
    assert all(known.hints for known in BUILT_IN)


def test_remedies_are_of_reasons_that_are_told() -> None:
    assert set(REMEDIES) < {known.reason for known in BUILT_IN}
    assert "smaller batch" in REMEDIES["out of GPU memory"]
