"""A real podman with one small image, in directories of a test's own, and a registry with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

IMAGE = "localhost/dlperf-tiny:1"
APPLETS = ("sh", "sleep", "echo", "cat", "id", "printf", "seq", "test")


@dataclass(frozen=True)
class Podman:
    """``environment``: in which ``podman`` is this one; ``directory``: of its files."""

    environment: dict[str, str]
    directory: Path

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            ["podman", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @property
    def running(self) -> list[str]:
        """Names of the containers that are there, running or not."""
        return self("ps", "--all", "--format", "{{.Names}}").split()


def podman_in(directory: Path) -> Iterator[Podman]:
    """Skips where there is none that works; what is left of its containers goes at the end."""
    busybox = shutil.which("busybox")
    if os.geteuid() != 0 or not shutil.which("podman") or not busybox:
        pytest.skip("needs podman, busybox and root")
    runtime = next(filter(shutil.which, ("runc", "crun")), "crun")
    configuration = directory / "containers.conf"
    # A machine that may not raise its limits cannot give podman's own.
    configuration.write_text(
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
        f'[engine]\nruntime = "{runtime}"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
    )
    storage = directory / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{directory}/graph"\nrunroot = "{directory}/run"\n'
    )
    podman = Podman(
        {
            **os.environ,
            "CONTAINERS_CONF": str(configuration),
            "CONTAINERS_STORAGE_CONF": str(storage),
            "CONTAINERS_REGISTRIES_CONF": str(directory / "registries.conf"),
        },
        directory,
    )
    (directory / "registries.conf").write_text("")
    archive = directory / "image.tar"
    _write_image(archive, Path(busybox))
    podman("import", str(archive), IMAGE)
    try:
        said = podman("run", "--rm", "--network=host", IMAGE, "echo", "works")
    except AssertionError as error:
        pytest.skip(f"podman runs no container here: {error}")
    assert said == "works"
    try:
        yield podman
    finally:
        podman("rm", "--all", "--force", "--time", "0")
        podman("rmi", "--all", "--force")


class Registry:
    """What ``podman pull`` asks a registry for, on the loopback: one image under any name.

    ``asked``: paths of its requests.
    """

    def __init__(self, podman: Podman) -> None:
        image = podman.directory / "registry"
        podman("push", IMAGE, f"dir:{image}")
        self.asked: list[str] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                name = self.path.rsplit("/", 1)[-1].removeprefix("sha256:")
                manifest = "/manifests/" in self.path
                body = b"{}" if name == "" else _blob(image, name, manifest=manifest)
                self.send_response(200 if body else 404)
                if manifest:
                    self.send_header("Content-Type", _kind(body))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.address = f"127.0.0.1:{self._server.server_port}"
        (podman.directory / "registries.conf").write_text(
            f'[[registry]]\nlocation = "{self.address}"\ninsecure = true\n'
        )

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _kind(manifest: bytes) -> str:
    """An OCI one need not say it."""
    told = json.loads(manifest).get("mediaType")
    return str(told or "application/vnd.oci.image.manifest.v1+json")


def _blob(image: Path, name: str, *, manifest: bool) -> bytes:
    path = image / ("manifest.json" if manifest else name)
    return path.read_bytes() if path.is_file() else b""


def _write_image(archive: Path, busybox: Path) -> None:
    """Busybox with the libraries that it needs."""
    listed = subprocess.run(["ldd", busybox], capture_output=True, text=True, check=False).stdout
    libraries = {Path(word) for word in listed.split() if word.startswith("/")}
    with tarfile.open(archive, "w") as tar:
        tar.add(busybox.resolve(), "bin/busybox")
        for library in libraries:
            tar.add(library.resolve(), str(library).lstrip("/"))
        for name in APPLETS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
