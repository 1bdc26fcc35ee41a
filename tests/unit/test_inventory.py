"""hosts.toml, ssh aliases and nodesets, as docs/inventory.md describes them."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest
import tomli_w
from hypothesis import example, given
from hypothesis import strategies as st

from backends.cluster import Cluster
from backends.inventory.aliases import read_ssh_aliases
from backends.inventory.host_entry import (
    TRANSPORTS,
    Host,
    Inventory,
    InventoryError,
    listed_address,
    select,
    this_machine,
    train_address_of,
)
from backends.inventory.host_to_toml import host_of, host_table
from backends.inventory.job_options import JobOptions, JobsAsked
from backends.inventory.load import default_inventory_path, load_inventory
from backends.inventory.nodesets import expand_nodeset, fold_nodeset, ranked_nodeset
from backends.inventory.queue import Queue, queue_of, queue_table
from backends.transports.local import LocalTransport
from backends.transports.pool import TransportPool
from backends.transports.transport import Completed
from profiles.errors import SelectionError


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write_inventory(text: str) -> Path:
        path = tmp_path / "hosts.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_inventory


def load(path: Path, ssh_config: Path | None = None) -> Inventory:
    return load_inventory(path, ssh_config=ssh_config or path.parent / "no-ssh-config")


FULL = """
[defaults]
user = "bench"
port = 22
identity = "~/.ssh/id_ed25519"
known_hosts = "~/.ssh/known_hosts"
ssh_config = "/nonexistent/ssh_config"
work_dir = "~/.cache/dlperf-tui"

[[hosts]]
name = "node[1-4]"
address = "10.11.0.[2-5]"
train_address = "192.168.9.[2-5]"
interface = "ib0"
labels = ["v100", "rack1"]
jump = "gateway"
slots = 8

[[hosts]]
name = "localhost"
transport = "local"
"""


def test_the_example_of_the_manual_expands_names_and_addresses_in_parallel(
    write: Callable[[str], Path],
) -> None:
    inventory = load(write(FULL))
    assert [host.name for host in inventory.hosts] == [
        "node1",
        "node2",
        "node3",
        "node4",
        "localhost",
    ]
    node3 = inventory.hosts[2]
    assert node3 == Host(
        name="node3",
        transport="ssh",
        address="10.11.0.4",
        port=22,
        user="bench",
        identity="~/.ssh/id_ed25519",
        known_hosts="~/.ssh/known_hosts",
        ssh_config="/nonexistent/ssh_config",
        jump="gateway",
        train_address="192.168.9.4",
        interface="ib0",
        labels=("v100", "rack1"),
        slots=8,
        work_dir="~/.cache/dlperf-tui",
    )
    assert inventory.hosts[4].transport == "local"
    assert inventory.hosts[4].address == ""


def test_names_keep_their_address_whatever_the_written_order(write: Callable[[str], Path]) -> None:
    inventory = load(
        write('[[hosts]]\nname = "big,small[2,1]"\naddress = "10.0.0.9,10.0.0.[3,7]"\n')
    )
    assert [(host.name, host.address) for host in inventory.hosts] == [
        ("big", "10.0.0.9"),
        ("small2", "10.0.0.3"),
        ("small1", "10.0.0.7"),
    ]


def test_a_key_on_a_host_supersedes_the_default(write: Callable[[str], Path]) -> None:
    inventory = load(
        write(
            '[defaults]\nuser = "bench"\njump = "gate"\nslots = 4\n'
            '[[hosts]]\nname = "gate"\n'
            '[[hosts]]\nname = "n1"\nuser = "me"\n'
            '[[hosts]]\nname = "n2"\njump = ""\nslots = 2\n'
        )
    )
    gate, n1, n2 = inventory.hosts
    assert gate.jump is None  # the default jump host is not reached through itself
    assert (n1.user, n1.jump, n1.slots) == ("me", "gate", 4)
    assert (n2.user, n2.jump, n2.slots) == ("bench", None, 2)


def test_without_an_inventory_this_machine_stands_alone(tmp_path: Path) -> None:
    inventory = load_inventory(
        default_path=tmp_path / "none.toml", ssh_config=tmp_path / "none", hostname="login01.x.org"
    )
    assert inventory.path is None
    assert inventory.hosts == (Host(name="login01", transport="local"),)


@pytest.mark.parametrize("hostname", ["", ".", "a/b", "münchen"])
def test_a_machine_with_an_unusable_name_is_localhost(tmp_path: Path, hostname: str) -> None:
    inventory = load_inventory(
        default_path=tmp_path / "none.toml", ssh_config=tmp_path / "none", hostname=hostname
    )
    assert inventory.hosts[0].name == "localhost"


def test_the_users_inventory_is_found_below_xdg_config_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "dlperf-tui" / "hosts.toml"
    path.parent.mkdir()
    path.write_text('[[hosts]]\nname = "mine"\n')
    assert default_inventory_path() == path
    assert load_inventory(ssh_config=tmp_path / "none").hosts[0].name == "mine"


def test_an_ssh_alias_connects_as_the_ssh_config_says(
    write: Callable[[str], Path], tmp_path: Path
) -> None:
    config = tmp_path / "ssh_config"
    config.write_text("Host gpu1 gpu2\n  HostName 10.0.0.1\n  User alice\nHost *.lab\n")
    inventory = load(
        write(
            '[defaults]\nuser = "bench"\nport = 2200\nwork_dir = "/data/bench"\n'
            '[[hosts]]\nname = "gpu1"\n[[hosts]]\nname = "other"\n'
        ),
        config,
    )
    gpu1, other = inventory.hosts
    assert (gpu1.address, gpu1.user, gpu1.port) == ("gpu1", None, None)
    assert (other.address, other.user, other.port) == ("other", "bench", 2200)
    # the alias that the file does not list can be selected too
    (gpu2,) = select(inventory, "gpu2")
    assert gpu2 == Host(name="gpu2", address="gpu2", work_dir="/data/bench")


def test_ssh_aliases_follow_include_and_leave_patterns_out(tmp_path: Path) -> None:
    (tmp_path / "more").write_text('Host = "inner" !not in?\n')
    config = tmp_path / "config"
    config.write_text(f"Include more\nInclude {config}\nhost a b*\n\tHost c # comment\nUser x\n")
    assert read_ssh_aliases(config) == ("inner", "a", "c")
    assert read_ssh_aliases(tmp_path / "missing") == ()


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[[hosts]]\nname = "a\n', "hosts.toml:2", "not valid TOML"),
        ('[[hosts]]\nname = "a"\n[[hosts]]\nnam = "b"\n', "hosts.toml:3", "did you mean 'name'?"),
        ('[[host]]\nname = "a"\n', "hosts.toml", "did you mean 'hosts'?"),
        ('[hosts]\nname = "a"\n', "hosts.toml", "double brackets"),
        ("", "hosts.toml", "lists no host"),
        ('[[hosts]]\nuser = "x"\n', "hosts.toml:1", "has no name"),
        ('[defaults]\naddress = "x"\n[[hosts]]\nname = "a"\n', "[defaults]", "cannot be a default"),
        ('[[hosts]]\nname = "a"\nport = "22"\n', "key 'port'", "whole number"),
        ('[[hosts]]\nname = "a"\nport = true\n', "key 'port'", "whole number"),
        ('[[hosts]]\nname = "a"\nport = 70000\n', "key 'port'", "1 to 65535"),
        ('[[hosts]]\nname = "a"\nslots = 0\n', "key 'slots'", "out of range"),
        ('[[hosts]]\nname = "a"\nprice_per_hour = -1\n', "key 'price_per_hour'", "out of range"),
        ('[[hosts]]\nname = "a"\nprice_per_hour = nan\n', "'price_per_hour'", "out of range"),
        ('[[hosts]]\nname = "a"\nprice_per_hour = "2"\n', "'price_per_hour'", "without quotes"),
        ('[[hosts]]\nname = "a"\ntransport = "rsh"\n', "key 'transport'", "'ssh' or 'local'"),
        ('[[hosts]]\nname = "a"\nlabels = "v100"\n', "key 'labels'", "must be a list"),
        ('[[hosts]]\nname = "a"\nlabels = ["x y"]\n', "key 'labels'", "label 'x y' is not allowed"),
        ("[[hosts]]\nname = 'a'\n[defaults]\nprot = 1\n", "[defaults]", "did you mean 'port'?"),
        ("defaults = 1\n[[hosts]]\nname = 'a'\n", "[defaults]", "must be a table"),
        ("hosts = [1]\n", "hosts.toml", "double brackets"),
        # An unknown key is told before a value that is wrong: it may be what was meant.
        ('[[hosts]]\nname = "a"\nport = 0\nprot = 22\n', "entry 1 'a'", "did you mean 'port'?"),
        # The first table that is wrong is told, whatever is wrong with the others.
        ('[[hosts]]\nname = "a"\nport = 0\n[[hosts]]\nnam = "b"\n', "key 'port'", "1 to 65535"),
        ('[[hosts]]\nname = "a"\nwork_dir = "bench"\n', "key 'work_dir'", "absolute path"),
        ('[[hosts]]\nname = "a"\nwork_dir = "~bob/x"\n', "key 'work_dir'", "absolute path"),
        ('[[hosts]]\nname = "a"\nlease_dir = "~/x"\n', "key 'lease_dir'", "absolute path"),
        ('[[hosts]]\nname = "a"\nenvironment = "A=1"\n', "key 'environment'", "a table"),
        ('[[hosts]]\nname = "a"\nenvironment = { "A B" = "1" }\n', "'environment'", "no variable"),
        ('[[hosts]]\nname = "a"\nenvironment = { A = 3 }\n', "'environment'", "text in quotes"),
        ('[[hosts]]\nname = "a"\nmpi_arguments = "-v"\n', "key 'mpi_arguments'", "list of words"),
        ('[labels.x]\nport = 1\n[[hosts]]\nname = "a"\n', "[labels.x]", "keys of a label are"),
        ('[labels."x y"]\n[[hosts]]\nname = "a"\n', "hosts.toml", "not allowed"),
        ('[[hosts]]\nname = "a"\nshare = "group"\n', "entry 1 'a'", "unknown key 'share'"),
        ('[defaults]\nshare = "all"\n[[hosts]]\nname = "a"\n', "key 'share'", "'private' or"),
        ('[defaults]\nengine = "pbs"\n[[hosts]]\nname = "a"\n', "key 'engine'", "'direct' or"),
        ('[slurm]\npartiton = "a"\n[[hosts]]\nname = "a"\n', "[slurm]", "mean 'partition'?"),
        ('[slurm]\nlabels = "a"\n[[hosts]]\nname = "a"\n', "[slurm]", "keys of [slurm] are part"),
        ('[slurm]\nnice = "3"\n[[hosts]]\nname = "a"\n', "[slurm], key 'nice'", "whole number"),
        ('[slurm]\nexclusive = 1\n[[hosts]]\nname = "a"\n', "'exclusive'", "write true or false"),
        ('[slurm]\nqos = 3\n[[hosts]]\nname = "a"\n', "[slurm], key 'qos'", "quality of service"),
        ('[slurm]\nextra = "-x"\n[[hosts]]\nname = "a"\n', "key 'extra'", '["--switches=1"]'),
        ('[slurm]\nextra = ["a\\n"]\n[[hosts]]\nname = "a"\n', "key 'extra'", "word 'a\\n'"),
        ('[slurm]\nqos = "a b"\n[[hosts]]\nname = "a"\n', "key 'qos'", "'a b' is not allowed"),
        (
            '[slurm.clusters.h100]\npartiton = "a"\n[[hosts]]\nname = "a"\n',
            "[slurm.clusters.h100]",
            "mean 'partition'?",
        ),
        (
            '[slurm.clusters.h100]\nallocation = "run"\n[[hosts]]\nname = "a"\n',
            "[slurm.clusters.h100]",
            "keys of a cluster are part",
        ),
        ('[slurm]\nallocation = "all"\n[[hosts]]\nname = "a"\n', "'allocation'", '"campaign", one'),
        ('[slurm]\nnodes = 0\n[[hosts]]\nname = "a"\n', "key 'nodes'", "number of nodes"),
        ("slurm = 3\n[[hosts]]\nname = 'a'\n", "[slurm]", "must be a table"),
        ('[[hosts]]\nname = "a"\nengine = "slurm"\n', "entry 1 'a'", "unknown key 'engine'"),
        (
            '[defaults]\nengine = "slurm"\n[[hosts]]\nname = "a[1-2]"\n',
            "hosts.toml",
            "a login node",
        ),
        ('[[hosts]]\nname = "a"\nuser = "-oProxyCommand=x"\n', "key 'user'", "login name"),
        ('[[hosts]]\nname = "a"\naddress = "me@b"\n', "key 'address'", "into user"),
        ('[[hosts]]\nname = "a"\naddress = "b:22"\n', "key 'address'", "into port"),
        ('[[hosts]]\nname = "a"\naddress = "-b"\n', "key 'address'", "not allowed"),
        ('[[hosts]]\nname = "a[1-2]"\naddress = "b"\n', "key 'address'", "2 names but 1"),
        ('[[hosts]]\nname = "a[1-"\n', "key 'name'", "unbalanced brackets"),
        ('[[hosts]]\nname = "a[4-1]"\n', "key 'name'", "invalid values"),
        ('[[hosts]]\nname = "a[1-99999999999]"\n', "key 'name'", "more than 10000"),
        ('[[hosts]]\nname = "../etc"\n', "key 'name'", "not allowed"),
        ('[[hosts]]\nname = "a..b"\n', "key 'name'", "not allowed"),
        ('[[hosts]]\nname = "a/b"\n', "key 'name'", "not allowed"),
        ('[[hosts]]\nname = "-x"\n', "key 'name'", "not allowed"),
        ('[[hosts]]\nname = "a b"\n', "key 'name'", "not allowed"),
        ('[[hosts]]\nname = "a\\u001b[31m"\n', "key 'name'", "'a\\x1b[31m'"),
        ("[[hosts]]\nname = 7\n", "key 'name'", "text in quotes"),
        ('[[hosts]]\nname = "a"\n[[hosts]]\nname = "b,a"\n', "hosts.toml:3", "listed twice"),
        ('[[hosts]]\nname = "a"\njump = "a"\n', "hosts.toml", "in a circle"),
        (
            '[[hosts]]\nname = "a"\njump = "b"\n[[hosts]]\nname = "b"\njump = "a"\n',
            "hosts.toml",
            "a → b → a",
        ),
    ],
)
def test_a_mistake_names_the_file_the_entry_the_key_and_the_remedy(
    write: Callable[[str], Path], text: str, line: str, says: str
) -> None:
    with pytest.raises(InventoryError) as caught:
        load(write(text))
    message = str(caught.value)
    assert line in message
    assert says in message
    assert "\n" not in message
    assert "\x1b" not in message


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"address": "b"}, "has no name"),
        ({"name": "a/b"}, "name: 'a/b' is not allowed"),
        ({"name": "a", "address": "-oProxyCommand=x"}, "address: "),
        ({"name": "a", "speed": 3}, "unknown key 'speed'"),
        ({"name": "a", "user": "-x"}, "user: '-x' is not allowed; give a login name"),
        ({"name": "a", "port": "22"}, "port: must be a whole number"),
    ],
)
def test_a_host_in_a_campaigns_file_is_checked_like_an_entry(
    table: dict[str, object], says: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        host_of(table)


@pytest.mark.parametrize("whole", [False, True])
def test_a_host_is_the_same_after_it_was_written_as_a_table(whole: bool) -> None:
    for host in (
        Host("here", transport="local", slots=2),
        Host("n1", address="fe80::1", port=22, labels=("a", "b"), jump="g", lease_dir="/l"),
        Host("n2", environment=("A=1", "B=x=y z"), mpi_arguments=("-mca", "btl", "tcp,self")),
    ):
        assert host_of(host_table(host, whole=whole)) == host


def test_what_a_network_needs_comes_from_defaults_labels_and_hosts(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(
        """
[defaults]
environment = { A = "default", B = "default", C = "default" }
mpi_arguments = ["--default"]
[labels.ib]
environment = { B = "label", C = "label", D = "label" }
mpi_arguments = ["-mca", "btl_tcp_if_exclude", "lo"]
[[hosts]]
name = "fast"
labels = ["ib"]
environment = { C = "host" }
[[hosts]]
name = "slow"
[[hosts]]
name = "odd"
labels = ["other", "ib"]
mpi_arguments = []
"""
    )
    fast, slow, odd = load(path).hosts
    assert fast.environment == ("A=default", "B=label", "C=host", "D=label")
    assert fast.mpi_arguments == ("-mca", "btl_tcp_if_exclude", "lo")
    assert slow.environment == ("A=default", "B=default", "C=default")
    assert slow.mpi_arguments == ("--default",)
    assert (odd.environment[3], odd.mpi_arguments) == ("D=label", ())


def test_a_named_inventory_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="no such file; create it"):
        load(tmp_path / "missing.toml")
    with pytest.raises(InventoryError, match="cannot be read"):
        load(tmp_path)


def test_an_inventory_saved_by_a_windows_editor_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_bytes(b'\xef\xbb\xbf[[hosts]]\r\nname = "a"\r\n')
    assert load(path).hosts[0].name == "a"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InventoryError, match="not UTF-8"):
        load(path)


CLUSTER = Inventory(
    tuple(
        Host(name=f"node{number}", labels=("v100",) if number < 3 else ("a100",))
        for number in range(1, 5)
    )
)


@pytest.mark.parametrize(
    ("nodeset", "names"),
    [
        (None, "node1 node2 node3 node4"),
        ("node[1-2]", "node1 node2"),
        ("node3,node1", "node3 node1"),  # the first is the first node of a case
        ("node[1-2],@v100,node2", "node1 node2"),
        ("@a100,node1", "node3 node4 node1"),
        ("@*!node[2-3]", "node1 node4"),
        ("!node1", "node2 node3 node4"),
        ("@v100!node1,node4", "node2 node4"),
        ("node*", "node1 node2 node3 node4"),
        (" node1 , node2 ", "node1 node2"),
    ],
)
def test_hosts_are_selected_by_nodeset_label_and_wildcard(nodeset: str | None, names: str) -> None:
    assert [host.name for host in select(CLUSTER, nodeset)] == names.split()


@pytest.mark.parametrize(
    ("nodeset", "says"),
    [
        ("nod1", r"unknown host 'nod1', did you mean 'node1'\? Known hosts: node\[1-4\]"),
        ("node[1-9]", "unknown host 'node5'"),
        ("@h100", "no host has the label 'h100'; known labels: a100, v100"),
        ("", "empty name"),
        ("node1,", "empty name"),
        ("node1!node1", "leaves no host"),
        ("x*", "no host matches"),
        ("node[", "unbalanced"),
    ],
)
def test_a_wrong_selection_says_what_there_is(nodeset: str, says: str) -> None:
    with pytest.raises(SelectionError, match=says):
        select(CLUSTER, nodeset)


def test_addresses_for_the_table_and_for_training() -> None:
    assert listed_address(Host(name="a", address="10.0.0.1", port=22)) == "10.0.0.1"
    assert listed_address(Host(name="a", address="10.0.0.1", port=2222)) == "10.0.0.1:2222"
    assert listed_address(Host(name="a", address="fe80::1", port=2222)) == "[fe80::1]:2222"
    assert listed_address(Host(name="a", transport="local")) == "local"
    assert train_address_of(Host(name="a", address="b", train_address="ib")) == "ib"
    assert train_address_of(Host(name="a", address="b")) == "b"
    assert train_address_of(Host(name="a")) == "a"
    assert train_address_of(Host(name="a", transport="local")) == "127.0.0.1"


def test_nodesets_expand_in_the_written_order() -> None:
    assert expand_nodeset("r[1-2]n[2,1]") == ("r1n2", "r1n1", "r2n2", "r2n1")
    assert expand_nodeset("node[08-10]") == ("node08", "node09", "node10")
    assert expand_nodeset("a[0-6/3]b") == ("a0b", "a3b", "a6b")
    assert fold_nodeset(["node1", "node2", "node4"]) == "node[1-2,4]"
    assert fold_nodeset([]) == ""


@given(st.text(alphabet="na[]0123456789-,/ é@", max_size=30))
def test_any_nodeset_text_expands_or_says_why_not(text: str) -> None:
    try:
        names = expand_nodeset(text)
    except ValueError:
        return
    assert names
    assert not any(set(name) & set("[],") for name in names)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_file_is_an_inventory_or_an_inventory_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("inventory") / "hosts.toml"
    path.write_bytes(content)
    with contextlib.suppress(InventoryError):
        load(path)


def test_reading_an_inventory_without_ranges_does_not_import_clustershell(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text('[[hosts]]\nname = "a"\naddress = "10.0.0.1"\n')
    program = (
        "import sys, pathlib; from backends.inventory.load import load_inventory;"
        f"load_inventory(pathlib.Path({str(path)!r}));"
        "sys.exit(any(name.startswith('ClusterShell') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_engine_with_a_queue_has_a_login_node_and_its_hosts_later(
    write: Callable[[str], Path],
) -> None:
    text = '[defaults]\nengine = "slurm"\nwork_dir = "/shared/x"\nuser = "me"\n'
    here = load_inventory(write(text), hostname="login01")
    assert (here.engine, here.hosts, here.aliases) == ("slurm", (), ())
    assert here.login is not None
    assert (here.login.transport, here.login.work_dir) == ("local", "/shared/x")
    there = load(write(f'{text}[[hosts]]\nname = "login02"\n'))
    assert there.login == Host("login02", address="login02", user="me", work_dir="/shared/x")


def test_another_engine_than_the_files_can_be_given(write: Callable[[str], Path]) -> None:
    direct = write('[[hosts]]\nname = "a[1-2]"\n')
    here = Host("here", transport="local")
    slurm = load_inventory(direct, hostname="here", engine="slurm")
    assert (slurm.engine, slurm.hosts, slurm.login) == ("slurm", (), here)
    assert load_inventory(direct, engine="direct") == load_inventory(direct)
    asked = write('[slurm]\nqos = "high"\n[[hosts]]\nname = "a[1-2]"\n')
    assert load_inventory(asked, engine="slurm").job_options.qos == "high"
    queue = write('[defaults]\nengine = "slurm"\n[[hosts]]\nname = "a"\n')
    back = load_inventory(queue, engine="direct")
    assert (back.engine, back.hosts, back.login) == ("direct", (Host("a", address="a"),), None)


MANUAL = Path(__file__).parents[2] / "docs" / "inventory.md"


def test_the_manuals_inventory_loads_and_its_table_has_every_key(
    write: Callable[[str], Path],
) -> None:
    manual = MANUAL.read_text(encoding="utf-8")
    example = manual.split("```toml\n")[1].split("```")[0]
    inventory = load(write(example))
    assert [host.name for host in select(inventory, "@v100")] == [f"node{n}" for n in range(1, 5)]
    table = manual.split("| key | on |")[1].split("\n\n")[0]
    for field in fields(Host):
        assert f"`{field.name}`" in table


async def test_a_new_transport_is_a_name_and_a_file(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its file would hold: ``open_transport``, which gets the host and what is shared."""

    class Echo(LocalTransport):
        async def run(
            self, command: str, *, stdin: bytes = b"", timeout_s: float | None = None
        ) -> Completed:
            return Completed(0, command.encode(), b"")

    file = ModuleType("backends.transports.echo")
    file.__dict__["open_transport"] = lambda host, _pool: Echo(host)
    monkeypatch.setitem(sys.modules, file.__name__, file)
    text = '[[hosts]]\nname = "a"\ntransport = "echo"\n'
    with pytest.raises(InventoryError, match="'echo' is not a transport; write 'ssh' or 'local'"):
        load(write(text))
    monkeypatch.setitem(TRANSPORTS, "echo", "says it again")
    (host,) = load(write(text)).hosts
    pool = TransportPool([host])
    assert (await pool.get("a").run("hello")).stdout == b"hello"
    await pool.close()


def test_every_transport_that_the_inventory_can_name_has_its_file() -> None:
    for name in TRANSPORTS:
        assert TransportPool().get(Host("a", transport=name)).host.name == "a"


NO_NAMES = st.sampled_from(["node[0-99999999]", "9" * 5000, "a,b", "", "a b", "@all", "x%3", "é"])


@given(
    st.lists(st.text("a1[]%-,", min_size=1, max_size=9), min_size=1, max_size=4),
    NO_NAMES,
    st.integers(0, 4),
)
@example(["c"], "a[b", 0)
@example(["1"], "[/nope]", 1)
def test_names_that_are_no_nodeset_are_listed_as_they_are(
    names: list[str], none: str, place: int
) -> None:
    names.insert(place, none)
    assert fold_nodeset(names) == ", ".join(names)


@given(st.lists(st.from_regex(r"[a-z]{1,2}-?[0-9]{0,3}", fullmatch=True), min_size=1, max_size=9))
def test_what_is_folded_is_what_expands_to_it(names: list[str]) -> None:
    assert set(expand_nodeset(fold_nodeset(names))) == set(names)


@pytest.mark.parametrize("written", [True, False])
def test_a_campaign_files_host_wins_only_over_what_nobody_wrote(
    tmp_path: Path, written: bool
) -> None:
    theirs = Host("here", transport="local", environment=("NCCL_DEBUG=INFO",))
    inventory = Inventory((Host("here", transport="local"),), tmp_path if written else None)
    cluster = Cluster(inventory)
    assert cluster.adopt([theirs, Host("there")]) == (("here",) if written else ())
    assert [host.name for host in cluster.inventory.hosts] == ["here", "there"]
    assert (cluster.inventory.get("here") == theirs) is not written
    assert cluster.adopt([Host("there")]) == ()


def test_a_cluster_has_what_slurm_has_but_for_what_it_says_itself(
    write: Callable[[str], Path],
) -> None:
    path = write(
        '[defaults]\nengine = "slurm"\n[slurm]\naccount = "ml"\nextra = ["--nice=1"]\n'
        '[slurm.clusters.h100]\n[slurm.clusters.a100]\npartition = "gpu"\nextra = ["--x"]\n'
    )
    asked = JobsAsked(words=("--y",), allocation="campaign")
    found = load_inventory(path, jobs=asked).clusters
    assert {name: some.partition for name, some in found.items()} == {"h100": "h100", "a100": "gpu"}
    assert {some.account for some in found.values()} == {"ml"}
    assert (found["a100"].extra, found["a100"].asked) == (("--nice=1", "--x"), ("--y",))
    only = load_inventory(path, jobs=JobsAsked(clusters=("a100", "other"))).clusters
    assert {name: some.partition for name, some in only.items()} == {
        "a100": "gpu",
        "other": "other",
    }


WORDS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=8)
OPTIONS = st.builds(
    JobOptions,
    partition=WORDS,
    account=WORDS,
    constraint=WORDS,
    nice=st.none() | st.integers(-5, 5),
    exclusive=st.booleans(),
    allocation=st.sampled_from(["run", "campaign"]),
    nodes=st.none() | st.integers(1, 9),
    extra=st.lists(WORDS, max_size=2).map(tuple),
)


@given(OPTIONS, st.dictionaries(st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True), OPTIONS))
def test_a_queue_is_read_as_it_was_written(
    options: JobOptions, clusters: dict[str, JobOptions]
) -> None:
    """In campaign.toml and frozen/."""
    queue = Queue("slurm", this_machine("login"), options, clusters)
    told = tomllib.loads(tomli_w.dumps(queue_table(queue)))
    assert queue_of(told) == queue


@given(
    st.lists(st.sampled_from(["va", "hb", "node1", "node2", "node3", "n01", "n[9"]), unique=True)
)
def test_hosts_of_a_run_stand_in_the_order_of_its_ranks(names: list[str]) -> None:
    said = ranked_nodeset(names)
    if "n[9" not in names:
        assert expand_nodeset(said) == tuple(names) if names else said == ""
    assert ranked_nodeset(["node1", "node2", "node3"]) == "node[1-3]"
    assert ranked_nodeset(["va", "hb"]) == "va,hb"
    assert ranked_nodeset(["v1", "v2", "h1", "h2", "h3"]) == "v[1-2],h[1-3]"
    assert ranked_nodeset(["n3", "n4", "n1", "n2"]) == "n[3-4],n[1-2]"
