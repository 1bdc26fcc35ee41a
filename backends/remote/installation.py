"""How the wrapper gets onto a host, and what is checked each time before it is executed.

What is executed lies in a directory that other users of the host may have prepared, so every
command looks first: the file and each directory above it belong to us or to root, nobody else can
write to them, and the file is byte for byte ours. Where it is not, it is installed anew, and that
says what stands in the way.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass, field
from shlex import quote

NOT_INSTALLED = 97
"""Exit status of a command that found no wrapper it could trust."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What runs on the hosts. ``sha256``: of its text, in hexadecimal."""

    sha256: str
    text: bytes = field(repr=False)

    @property
    def directory(self) -> str:
        """Below work_dir; one per content, so that an older run keeps the one it began with."""
        return f"bin/{self.sha256[:16]}"


def part(name: str) -> bytes:
    """A script of this package."""
    return importlib.resources.files("backends.remote").joinpath(name).read_bytes()


@functools.cache
def wrapper() -> Wrapper:
    """The wrapper as this version of the program installs it."""
    parts = ("trust.sh", "lease.sh", "orphans.sh", "diagnose.sh", "host.sh")
    text = b"".join(map(part, parts))
    return Wrapper(hashlib.sha256(text).hexdigest(), text)


# As trust.sh has it, in two processes: this stands before every command. "ls" sorts its arguments,
# so that / comes first and the wrapper last. Directories that others may write to count when they
# are sticky, as /tmp is, and those of a group when it is root's or the user's own.
_CHECKED = """\
cd -P -- {directory} 2>/dev/null || exit {missing}
d=$PWD p=$PWD; cd /
[ -O "$d/host.sh" ] || exit {missing}
set -f -- "$d/host.sh"; while [ -n "$p" ]; do set -- "$p" "$@"; p=${{p%/*}}; done
l=$(LC_ALL=C ls -ldn -- / "$@" 2>/dev/null) || exit {missing}
set -- ${{l##*
}}; u=$3 r=
while read -r m _ o q _; do r=${{r:-$o}}
case $o in 0 | "$u" | "$r") ;; *) exit {missing} ;; esac
case $m in l* | ????????w[!tT]*) exit {missing} ;; ?????w???[!tT]*)
[ "$q" = 0 ] || {{ [ "$q" = "$(id -g)" ] && [ "$(id -gn)" = "$(id -un)" ]; }} || exit {missing}
esac; done <<-:
$l
:
set +f
s=$(sha256sum <"$d/host.sh" 2>/dev/null)
[ -n "$s" ] || [ "$(wc -c <"$d/host.sh")" -ne {size} ] || s={sha256} # no such tool: by its size
[ "${{s%% *}}" = {sha256} ] || exit {missing}
exec sh "$d/host.sh" {words}"""


def command_of(what: Wrapper, work_dir: str, words: Sequence[str]) -> str:
    """Shell text that executes the wrapper with ``words``, or ends with NOT_INSTALLED."""
    return command_with(what, work_dir, " ".join(map(quote, words)))


def command_with(what: Wrapper, work_dir: str, words: str) -> str:
    """The same, with the words as shell text: where only the host can tell one of them."""
    return _CHECKED.format(
        directory=f"{remote_path(work_dir)}/{what.directory}",
        missing=NOT_INSTALLED,
        sha256=what.sha256,
        size=len(what.text),
        words=words,
    )


# Made step by step, each looked at before the next. Written apart and renamed: a host never sees
# half a wrapper, even on a shared home, and nothing that lies in its place is written through.
_INSTALLING = """\
umask 077
refuse() {{ printf 'error: %s\n' "$1" >&2; exit 70; }}
d={directory}
case $d in /*) ;; *) refuse "$d is no absolute path" ;; esac
trust() {{ distrust "$1"; [ -z "$doubt" ] || refuse "$doubt"; }}
trust "$d"
path=${{d#/}}/ here=
while [ -n "$path" ]; do
    here=$here/${{path%%/*}} path=${{path#*/}}
    [ -d "$here" ] && continue
    mkdir -- "$here" 2>/dev/null || [ -d "$here" ] || refuse "cannot make $here"
    trust "$here"
done
n=$d/.new.{name}.$$
cat >"$n" && [ "$(wc -c <"$n")" -eq {size} ] && mv -f -- "$n" "$d/host.sh" ||
    {{ rm -f -- "$n"; exit 70; }}
"""


def installing(what: Wrapper, work_dir: str, name: str) -> str:
    """Shell text that stores the wrapper, which comes on stdin. ``name``: of the host."""
    steps = _INSTALLING.format(
        directory=f"{remote_path(work_dir)}/{what.directory}", size=len(what.text), name=name
    )
    return part("trust.sh").decode("ascii") + steps


def remote_path(path: str) -> str:
    """Shell text for a path that may start with ~, which is the host's to expand."""
    if path == "~":
        return '"$HOME"'
    if path.startswith("~/"):
        return f'"$HOME"/{quote(path[2:].rstrip("/"))}'
    return quote(path.rstrip("/"))
