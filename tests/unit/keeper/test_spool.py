"""Requests as files: what is put is taken once, and nothing else that lies there does any harm."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backends.campaign.folder.paths import REQUESTS, TAKEN
from backends.campaign.folder.refuse_foreign_files import refuse_ways_out
from backends.file_modes import Share
from backends.keeper.request import (
    MOST_BYTES,
    Answer,
    Request,
    Verb,
    new_id,
    request_from_json,
    request_to_json,
)
from backends.keeper.spool import ANSWERS, DRAFT_S, GOOD_FOR_S, Spool
from profiles.errors import DlperfError

NOW = 1_795_000_000.0
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files away")


def spool(campaign: Path, now: float = NOW) -> Spool:
    return Spool(campaign, lambda: now)


def request(**changes: object) -> Request:
    values: dict[str, object] = {"id": new_id(), "campaign": "1f9811d0", "verb": Verb.CANCEL}
    return Request(**{**values, **changes})  # type: ignore[arg-type]  # of these names


def lay(campaign: Path, data: bytes, name: str | None = None) -> Path:
    """As somebody who keeps to no rule."""
    path = campaign / REQUESTS / (name or f"{new_id()}.json")
    path.write_bytes(data)
    os.utime(path, (NOW, NOW))
    return path


def modes(campaign: Path) -> dict[str, int]:
    folders = (campaign / "spool").iterdir()
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folders}


def test_what_is_put_is_taken_and_answered_once(campaign: Path) -> None:
    asked = request(run_ids=("1f9811d0-0001-a1",))
    spool(campaign).put(asked)
    assert spool(campaign).answer(asked.id) is None
    taken = spool(campaign).take()
    assert taken is not None
    assert (taken.request, taken.uid, taken.problem) == (asked, os.getuid(), "")
    spool(campaign).reply(Answer(asked.id, True, "1 run", ("1f9811d0-0001-a1",)))
    spool(campaign).reply(Answer(asked.id, False, "another answer"))
    assert spool(campaign).answer(asked.id) == Answer(asked.id, True, "1 run", asked.run_ids or ())
    assert spool(campaign).take() is None
    assert list((campaign / TAKEN).iterdir()) == []


def test_requests_are_taken_in_the_order_of_asking(campaign: Path) -> None:
    asked = [request() for _ in range(5)]
    for number, one in enumerate(asked):
        spool(campaign, NOW + number).put(one)
    found = []
    while (taken := spool(campaign, NOW + 10).take()) is not None:
        found.append(taken.request)
        spool(campaign).reply(Answer(taken.id, True, ""))
    assert found == asked


def test_of_taking_it_and_taking_it_back_exactly_one_happens(campaign: Path) -> None:
    for _ in range(50):
        asked = request()
        spool(campaign).put(asked)
        with ThreadPoolExecutor(2) as threads:
            taking = threads.submit(spool(campaign).take)
            taking_back = threads.submit(spool(campaign).take_back, asked.id)
        taken = taking.result()
        assert (taken is None) is taking_back.result()
        if taken is not None:
            spool(campaign).reply(Answer(taken.id, True, ""))


def test_what_was_taken_by_somebody_who_was_killed_comes_first(campaign: Path) -> None:
    first, second = request(), request()
    spool(campaign).put(first)
    assert spool(campaign).take() is not None
    spool(campaign, NOW - 5).put(second)
    left = spool(campaign).take()
    assert left is not None
    assert left.request == first


def test_a_request_that_waited_for_too_long_is_not_done(campaign: Path) -> None:
    asked = request()
    spool(campaign).put(asked)
    taken = spool(campaign, NOW + GOOD_FOR_S + 1).take()
    assert taken is not None
    assert taken.request is None
    assert "too long" in taken.problem


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not an object"),
        (b"{}", "nothing that can be asked"),
        (b'{"verb": ["cancel"]}', "nothing that can be asked"),
        (b'{"verb": "cancel", "repeats": 1, "id": "x", "campaign": "y"}', "repeats are asked"),
        (b'{"verb": "repeat", "repeats": 1e9}', "repeats are a number"),
        (b'{"verb": "repeat", "repeats": true}', "repeats are a number"),
        (b'{"verb": "cancel", "id": 5}', "id is no name"),
        (b'{"verb": "cancel", "id": "a\\u001b[31m", "campaign": "x"}', "id is no name"),
        (b'{"verb": "cancel", "id": "a", "campaign": "x", "run_ids": "all"}', "a list of names"),
        (b'{"verb": "cancel", "id": "a", "campaign": "x", "run_ids": [1]}', "no name"),
        (b'{"verb": "cancel", "id": "a", "campaign": "x"}', "the copy of another"),
        (b" " * (MOST_BYTES + 1), "too long"),
    ],
)
def test_what_is_no_request_is_refused_with_a_line_why(
    campaign: Path, data: bytes, why: str
) -> None:
    lay(campaign, data)
    taken = spool(campaign).take()
    assert taken is not None
    assert taken.request is None
    assert why in taken.problem
    spool(campaign).reply(Answer(taken.id, False, taken.problem))
    assert spool(campaign).take() is None


def test_a_link_a_pipe_and_a_directory_are_refused_and_neither_followed_nor_waited_for(
    campaign: Path, tmp_path: Path
) -> None:
    asked = request()
    secret = tmp_path / "secret"
    secret.write_bytes(request_to_json(asked))
    folder = campaign / REQUESTS
    (folder / f"{asked.id}.json").symlink_to(secret)
    os.mkfifo(folder / f"{new_id()}.json")
    (folder / f"{new_id()}.json").mkdir()
    full = folder / f"{new_id()}.json"
    full.mkdir()
    (full / "something").touch()
    for _ in range(4):
        taken = spool(campaign).take()
        assert taken is not None
        assert (taken.request, taken.problem) == (None, "it is no file")
        spool(campaign).reply(Answer(taken.id, False, taken.problem))
    assert spool(campaign).take() is None
    assert secret.read_bytes() == request_to_json(asked)


def test_a_directory_with_something_in_it_keeps_nobody_from_the_campaign(
    campaign: Path, tmp_path: Path
) -> None:
    """Not the first time, and not when the same name comes again."""
    name = f"{new_id()}.json"
    for _ in range(3):
        full = campaign / REQUESTS / name
        full.mkdir()
        (full / "way out").symlink_to(tmp_path)
        refuse_ways_out(campaign)
        taken = spool(campaign).take()
        assert taken is not None
        refuse_ways_out(campaign)
        spool(campaign).reply(Answer(taken.id, False, taken.problem))
        refuse_ways_out(campaign)
        asked = request()
        spool(campaign).put(asked)
        taken = spool(campaign).take()
        assert taken is not None
        assert taken.request == asked
        spool(campaign).reply(Answer(asked.id, True, ""))


def test_nobody_learns_a_requests_name_before_it_is_there(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a member of the group could put something else in its place."""
    asked = request()
    seen: list[str] = []

    def look(fd: int) -> None:
        seen.extend(path.name for path in (campaign / REQUESTS).iterdir())

    monkeypatch.setattr(os, "fsync", look)
    spool(campaign).put(asked)
    assert len(seen) == 1
    assert asked.id not in seen[0]


def test_of_those_that_take_at_once_each_gets_what_is_taken(campaign: Path) -> None:
    """One was cancelled, and goes on in its thread: what it took is not lost to the other."""
    for _ in range(50):
        asked, shared = request(), spool(campaign)
        shared.put(asked)
        with ThreadPoolExecutor(4) as threads:
            taking = [threads.submit(shared.take) for _ in range(4)]
            taken = [one.result() for one in taking]
            list(threads.map(shared.reply, [Answer(asked.id, True, "done")] * 4))
        assert [one and one.request for one in taken] == [asked] * 4
        assert shared.take() is None


def test_answers_are_kept_for_as_long_as_a_request_is_good(campaign: Path) -> None:
    asked = [request() for _ in range(3)]
    for number, one in enumerate(asked):
        spool(campaign, NOW + 100 * number).put(one)
        assert spool(campaign, NOW + 100 * number).take() is not None
        spool(campaign, NOW + 100 * number).reply(Answer(one.id, True, ""))
    assert spool(campaign, NOW + 150 + GOOD_FOR_S).take() is None
    left = [one.id for one in asked if spool(campaign).answer(one.id) is not None]
    assert left == [asked[2].id]
    assert len(list((campaign / ANSWERS).iterdir())) == 1


def test_a_hard_link_to_what_somebody_else_wrote_is_refused(campaign: Path, tmp_path: Path) -> None:
    """Else one could have the owner of any file ask for something."""
    asked = request()
    elsewhere = tmp_path / "mine"
    elsewhere.write_bytes(request_to_json(asked))
    os.link(elsewhere, campaign / REQUESTS / f"{asked.id}.json")
    taken = spool(campaign).take()
    assert taken is not None
    assert (taken.request, taken.problem) == (None, "it has another name elsewhere")


def test_names_that_are_none_are_left_out_and_swept_when_they_are_old(campaign: Path) -> None:
    names = ["\x1b[31mred.json", "..json", "a\nb.json", f".{new_id()}.draft", "UPPER" * 8 + ".json"]
    for name in names:
        lay(campaign, b"{}", name)
    assert spool(campaign).take() is None
    assert len(list((campaign / REQUESTS).iterdir())) == len(names)
    assert spool(campaign, NOW + DRAFT_S + 1).take() is None
    assert list((campaign / REQUESTS).iterdir()) == []


def test_an_answer_is_one_only_from_the_campaigns_owner(campaign: Path, tmp_path: Path) -> None:
    asked = request()
    answer = campaign / ANSWERS / f"{asked.id}.json"
    answer.write_bytes(b"[]")
    assert spool(campaign).answer(asked.id) is None
    answer.write_bytes(b'{"id": "other", "done": true, "text": "", "run_ids": []}')
    assert spool(campaign).answer(asked.id) is None
    answer.unlink()
    os.mkfifo(answer)
    assert spool(campaign).answer(asked.id) is None


@needs_root
def test_a_forged_answer_is_none(campaign: Path) -> None:
    asked = request()
    forged = campaign / ANSWERS / f"{asked.id}.json"
    forged.write_bytes(b'{"id": "%s", "done": true, "text": "", "run_ids": []}' % asked.id.encode())
    assert spool(campaign).answer(asked.id) is not None
    os.chown(forged, 4242, 4242)
    assert spool(campaign).answer(asked.id) is None


def test_a_private_campaign_takes_files_of_its_owner_alone(campaign: Path) -> None:
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (campaign / "spool").iterdir()
    }
    assert modes == {"requests": 0o700, "taken": 0o700, "answers": 0o700}


def test_a_groups_campaign_takes_its_requests_and_nobody_forges_an_answer(tmp_path: Path) -> None:
    campaign = tmp_path / "shared"
    campaign.mkdir()
    campaign.chmod(Share.GROUP.directory_mode)
    spool(campaign).make()
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (campaign / "spool").iterdir()
    }
    assert modes == {"requests": 0o3770, "taken": 0o750, "answers": 0o750}
    asked = request()
    spool(campaign).put(asked)
    put = campaign / REQUESTS / f"{asked.id}.json"
    assert stat.S_IMODE(put.stat().st_mode) == 0o640


def test_a_link_in_place_of_the_spool_is_not_followed(tmp_path: Path) -> None:
    campaign, elsewhere = tmp_path / "campaign", tmp_path / "elsewhere"
    campaign.mkdir(0o700)
    elsewhere.mkdir()
    (campaign / "spool").symlink_to(elsewhere)
    with pytest.raises(DlperfError, match="cannot ask"):
        spool(campaign).put(request())
    assert list(elsewhere.iterdir()) == []


def test_a_request_is_read_as_it_was_written() -> None:
    for one in (request(), request(run_ids=("a", "b")), request(verb=Verb.REPEAT, repeats=3)):
        assert request_from_json(request_to_json(one)) == one
