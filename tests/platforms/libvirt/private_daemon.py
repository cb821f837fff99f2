"""A libvirtd of our own beside the system's: own folders, own sockets, a TCP port.

It runs in a mount namespace in which libvirt's folders are empty ones, so nothing that is defined
here is seen by the system's libvirtd, and nothing of the system's is seen here. QEMU runs as root:
as libvirt-qemu it could not open /dev/kvm where udev has not set its group, and libvirt 9.0 then
probes the emulators anew for each definition.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import libvirt

from tests.ports import free_port
from tests.rig import cache
from tests.rig.errors import Missing, RigError
from tests.rig.process import require, wait_for

_QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
"""
_LIBVIRTD_CONF = """\
listen_tls = 0
listen_tcp = 1
tcp_port = "{port}"
listen_addr = "127.0.0.1"
auth_tcp = "none"
auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_dir = "{folder}/sock"
"""
_START = """\
set -e
mount --make-rprivate /
mount --bind "$1/etc" /etc/libvirt
mount --bind "$1/lib" /var/lib/libvirt
mount --bind "$1/run" /run/libvirt
mount --bind "$1/log" /var/log/libvirt
mount --bind "$2" /var/cache/libvirt
exec libvirtd --listen --config "$1/libvirtd.conf" --pid-file "$1/pid"
"""
_FOLDERS = ("etc/qemu/networks", "lib", "run", "log", "sock")


@dataclass(frozen=True)
class PrivateDaemon:
    """Where it is: ``uri`` over its local socket, ``port`` for TCP on 127.0.0.1."""

    uri: str
    port: int
    process: subprocess.Popen[bytes]

    @property
    def tcp(self) -> str:
        """The URI over TCP."""
        return tcp_uri(self.port)


def tcp_uri(port: int) -> str:
    """The system daemon behind a port of this machine."""
    return f"qemu+tcp://127.0.0.1:{port}/system"


@contextmanager
def private_daemon() -> Iterator[PrivateDaemon]:
    """A running daemon that has found out what the emulators can do; all of it is removed at the
    end. Raises Missing where it cannot run."""
    if os.geteuid():
        raise Missing("a libvirtd of our own needs root")
    require("libvirtd", "unshare", "mount")
    folder = Path(tempfile.mkdtemp(prefix="vnicaudit-"))
    try:
        try:
            daemon = _started(folder / "first")
        except RigError:  # once: somebody else may have taken the port before it did
            daemon = _started(folder / "second")
        try:
            yield daemon
        finally:
            _end(daemon.process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path) -> PrivateDaemon:
    port = free_port()
    capabilities = cache.folder() / "libvirt-capabilities"
    capabilities.mkdir(exist_ok=True)
    _configure(folder, port)
    command: list[str | Path] = ["unshare", "--mount", "sh", "-c", _START, "libvirtd"]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen([*command, folder, capabilities], stdout=output, stderr=output)
    daemon = PrivateDaemon(f"qemu+unix:///system?socket={folder}/sock/libvirt-sock", port, process)
    try:
        _wait_until_ready(daemon, folder)
    except BaseException:
        _end(process)
        raise
    return daemon


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def _configure(folder: Path, port: int) -> None:
    for name in _FOLDERS:
        (folder / name).mkdir(parents=True)
    (folder / "etc/qemu.conf").write_text(_QEMU_CONF)
    (folder / "libvirtd.conf").write_text(_LIBVIRTD_CONF.format(folder=folder, port=port))


def _wait_until_ready(daemon: PrivateDaemon, folder: Path) -> None:
    def listens() -> bool:
        if daemon.process.poll() is not None:
            raise RigError(f"libvirtd ended: {(folder / 'output').read_text()[-2000:]}")
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", daemon.port)) == 0

    wait_for(listens, "our own libvirtd listens")
    connection = libvirt.open(daemon.uri)
    connection.getVersion()
    connection.close()
