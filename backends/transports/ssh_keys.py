"""Whose keys we trust, and which keys we show: known_hosts files and identities, read once."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from backends import debug
from backends.transports.transport import Prompter

GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
DEFAULT_IDENTITIES = ("id_ed25519_sk", "id_ecdsa_sk", "id_ed25519", "id_ecdsa", "id_rsa")

_PASSPHRASE_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class HostKeys:
    """What the known_hosts files say of one host. ``types`` empty: it is unknown.

    ``algorithms``: the signatures that keys of these types can make.
    """

    types: tuple[str, ...]
    algorithms: tuple[str, ...]
    revoked: bool


class KnownHosts:
    """known_hosts files, read again only when they change."""

    def __init__(self) -> None:
        self._read: dict[tuple[tuple[str, int], ...], asyncssh.SSHKnownHosts] = {}

    def load(self, files: Sequence[Path]) -> asyncssh.SSHKnownHosts:
        """The entries of all files together. Missing files and lines that make no sense are
        skipped, as OpenSSH does."""
        key = tuple((str(file), _changed_at(file)) for file in files)
        if key not in self._read:
            known = asyncssh.SSHKnownHosts()
            for file in files:
                with contextlib.suppress(OSError):
                    for line in file.read_text("utf-8", "replace").splitlines():
                        with contextlib.suppress(ValueError):
                            known.load(line)
            self._read[key] = known
        return self._read[key]

    def look_up(
        self,
        files: Sequence[Path],
        name: str,
        address: str,
        port: int,
        key: asyncssh.SSHKey | None = None,
    ) -> HostKeys:
        """What is known of exactly this name, or address, and port."""
        known = self.load(files)
        types: list[str] = []
        algorithms: list[str] = []
        revoked = False
        for host in dict.fromkeys((name, address)):
            pattern = host if port == asyncssh.DEFAULT_PORT else f"[{host}]:{port}"
            keys, _, revoked_keys, *_ = known.match(pattern, "", None)
            types += [known_key.get_algorithm() for known_key in keys]
            algorithms += [alg.decode() for trusted in keys for alg in trusted.sig_algorithms]
            revoked = revoked or key in revoked_keys
        return HostKeys(tuple(dict.fromkeys(types)), tuple(dict.fromkeys(algorithms)), revoked)

    @staticmethod
    def add(file: Path, name: str, port: int, key: asyncssh.SSHKey) -> None:
        """Append an entry as OpenSSH does. Raises OSError."""
        host = name if port == asyncssh.DEFAULT_PORT else f"[{name}]:{port}"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        entry = f"{host} {key.export_public_key('openssh').decode().strip()}\n"
        with contextlib.suppress(OSError):  # a last line without its newline
            if file.stat().st_size and not file.read_bytes().endswith(b"\n"):
                entry = "\n" + entry
        file.touch(mode=0o600)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(entry)


def _changed_at(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


@dataclass(slots=True)
class Identities:
    """Private keys by file, read once; encrypted ones are unlocked when a login needs them."""

    prompter: Prompter | None
    _pairs: dict[Path, Sequence[asyncssh.SSHKeyPair]] = field(default_factory=dict)
    _locked: set[Path] = field(default_factory=set)
    _refused: set[Path] = field(default_factory=set)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unlocked: set[bytes] = field(default_factory=set)  # public keys of those that were asked for

    def any_unlocked(self, pairs: Sequence[asyncssh.SSHKeyPair]) -> bool:
        """Whether a passphrase was typed for one of them."""
        return any(pair.public_data in self._unlocked for pair in pairs)

    async def load(self, files: Sequence[Path]) -> list[asyncssh.SSHKeyPair]:
        """The usable keys of these files, for one connection.

        Raises OSError when one cannot be read, asyncssh.KeyImportError when it is no key.
        """
        pairs: list[asyncssh.SSHKeyPair] = []
        for file in files:
            if file not in self._pairs and file not in self._locked:
                try:
                    self._pairs[file] = await asyncio.to_thread(asyncssh.load_keypairs, str(file))
                except asyncssh.KeyImportError as error:
                    if not _needs_passphrase(error):
                        raise
                    self._locked.add(file)
            # Copies: a login notes in its key pairs which signature the server wants.
            pairs += [copy.copy(pair) for pair in self._pairs.get(file, ())]
        return pairs

    def locked(self, files: Sequence[Path]) -> list[Path]:
        return [file for file in files if file in self._locked]

    def askable(self, files: Sequence[Path]) -> bool:
        """Whether there is a locked key whose passphrase was not refused yet."""
        return any(file in self._locked and file not in self._refused for file in files)

    async def unlock_one(self, files: Sequence[Path], host: str) -> bool:
        """Ask for the passphrase of the first locked key. True when there is one key more."""
        if self.prompter is None:
            return False
        locked = self.locked(files)
        async with self._asking:
            for file in locked:
                if file not in self._locked:
                    return True  # unlocked for another host while we waited
                if file in self._refused:
                    continue
                if await self._unlock(file, host, self.prompter):
                    return True
                self._refused.add(file)
        return False

    async def _unlock(self, file: Path, host: str, prompter: Prompter) -> bool:
        prompt = f"Passphrase for {file}"
        for _ in range(_PASSPHRASE_ATTEMPTS):
            debug.log().info("%s: the passphrase of %s is asked for", host, file)
            passphrase = await prompter.secret(host, prompt)
            if passphrase is None:
                return False
            try:
                self._pairs[file] = await asyncio.to_thread(
                    asyncssh.load_keypairs, str(file), passphrase
                )
            except asyncssh.KeyEncryptionError:
                prompt = f"That was not it. Passphrase for {file}"
            else:
                self._locked.discard(file)
                self._unlocked.update(pair.public_data for pair in self._pairs[file])
                return True
        return False

    def ask_again(self) -> None:
        self._refused.clear()


def _needs_passphrase(error: asyncssh.KeyImportError) -> bool:
    return isinstance(error, asyncssh.KeyEncryptionError) or str(error).startswith("Passphrase")
