"""What programs on hosts print is anybody's bytes: figures are taken from it, or nothing is."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.precheck.figures import FAULTS, METRICS, About, said_in

LINE = b'precheck: {"metric": "cpu_one", "unit": "MB/s", "value": 1412.3}\n'


def test_a_figure_is_found_among_whatever_else_is_in_the_log():
    log = b"[rank0] hello\n\x1b[31m" + LINE + b"\xff\xfe\n"
    (figure,) = said_in(log, ("node1",), "a CPU")
    assert (figure.metric, figure.value, figure.unit) == ("cpu_one", 1412.3, "MB/s")
    assert (figure.hosts, figure.devices, figure.kind) == (("node1",), (), "a CPU")


def test_a_gpu_its_model_and_a_link_are_told():
    told = {"metric": "peer", "value": 380.5, "unit": "GB/s", "device": 2, "to": 5, "model": "H200"}
    (figure,) = said_in(f"precheck: {json.dumps(told)}\n".encode(), ("node1",))
    assert (figure.devices, figure.kind) == ((2, 5), "H200")


def test_ranks_are_hosts():
    told = {"metric": "exchange", "value": 1.1, "unit": "GB/s", "from": 1, "to": 0}
    (figure,) = said_in(f"precheck: {json.dumps(told)}\n".encode(), ("node1", "node2"), "tcp")
    assert (figure.hosts, figure.devices) == (("node2", "node1"), ())


@pytest.mark.parametrize(
    "line",
    [
        b'precheck: {"metric": "cpu_one", "value": NaN}',
        b'precheck: {"metric": "cpu_one", "value": Infinity}',
        b'precheck: {"metric": "cpu_one", "value": -1}',
        b'precheck: {"metric": "cpu_one", "value": true}',
        b'precheck: {"metric": "cpu_one", "value": "12"}',
        b'precheck: {"metric": "unheard of", "value": 1}',
        b'precheck: {"metric": ["cpu_one"], "value": 1}',
        b'precheck: {"metric": "exchange", "value": 1, "from": 0, "to": 7}',
        b'precheck: {"metric": "exchange", "value": 1, "from": -1, "to": 0}',
        b'precheck: {"metric": "gemm", "value": 1, "device": "0; rm"}',
        b'precheck: {"metric": "gemm", "value": 1, "device": 99999}',
        pytest.param(b'precheck: {"metric": "cpu_one", "value": ' + b"9" * 400 + b"}", id="large"),
        pytest.param(b'precheck: {"metric": "cpu_one", "value": ' + b"9" * 3900 + b"}", id="huge"),
        b'precheck: {"metric": "cpu_one", "value": 1, "device": 0}',
        b'precheck: {"metric": "pair", "value": 1}',
        b'precheck: {"metric": "exchange", "value": 1}',
        b'precheck: {"metric": "exchange", "value": 1, "from": 1, "to": 1}',
        b'precheck: {"metric": "gemm", "value": 1}',
        b'precheck: {"metric": "wrong", "value": 1}',
        b'precheck: {"metric": "gemm", "value": 1, "device": 0, "to": 1}',
        b'precheck: {"metric": "gemm", "value": 1, "from": 0, "to": 1}',
        b'precheck: {"metric": "peer", "value": 1, "device": 0}',
        b'precheck: {"metric": "all", "value": 1}',
        b"precheck: [1, 2]",
        b"precheck: " + b"[" * 3000,
        b'precheck: {"metric": "cpu_one", "value": 1, "x": "' + b"y" * 5000 + b'"}',
    ],
)
def test_what_is_no_figure_is_passed_over(line: bytes):
    found = list(said_in(line + b"\n" + LINE, ("node1", "node2")))
    assert [figure.value for figure in found] == [1412.3]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(0, 2)
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["metric", "value", "unit", "device", "to", "from", "model", "x"])


LIKELY = st.fixed_dictionaries(
    {"metric": st.sampled_from([*METRICS, *FAULTS]), "value": st.floats(0, 1e6)},
    optional={key: st.integers(0, 2) for key in ("device", "to", "from")},
)
ANY = st.dictionaries(KEYS, JSON | st.sampled_from([*METRICS, *FAULTS]))


@given(st.lists(LIKELY | ANY, max_size=5))
def test_anything_gives_safe_figures_or_none(told: list[dict[str, object]]):
    log = "".join(f"precheck: {json.dumps(one)}\n" for one in told).encode("utf-8", "replace")
    for figure in said_in(log, ("node1", "node2")):
        assert math.isfinite(figure.value)
        assert figure.value >= 0
        assert set(figure.hosts) <= {"node1", "node2"}
        assert all(0 <= device < 1024 for device in figure.devices)
        about = METRICS[figure.metric].about if figure.metric in METRICS else About.GPU
        assert len(set(figure.hosts)) == (2 if about is About.PAIR else 1)
        assert len(figure.devices) == {About.GPU: 1, About.LINK: 2}.get(about, 0)
        texts = [figure.unit, figure.kind, *map(str, figure.details.values())]
        assert not any(ch < " " for text in texts for ch in text)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(log: bytes):
    list(said_in(b"precheck: " + log, ("node1",)))
