"""QEMU and libvirt of this machine and of newer releases of Debian, to compare with.

    python -m tests.conformance.releases [trixie|sid]

starts that release's libvirtd, prints where it listens and where its QEMU is, and ends it when
standard input does. It needs root. A release is installed once, into a folder of the rig's cache
(about 1 GB, two minutes); ``sid`` moves on, and is installed anew when that folder is removed.

A libvirtd is alone with its guests: it has its own processes, network (with a bridge ``br0``),
definitions and logs, and all of them end with it.
"""

import importlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.rig import cache
from tests.rig.debian import mirror
from tests.rig.errors import RigError
from tests.rig.process import require, run, wait_for

HERE = "here"
RELEASES = ("trixie", "sid")

_QEMU_CONF = Path(__file__).parent.parent / "rig/files/qemu.conf"
_PACKAGES = (
    *(f"qemu-system-{name}" for name in ("x86", "arm", "misc", "ppc", "s390x", "riscv")),
    *(f"libvirt-daemon{name}" for name in ("", "-driver-qemu", "-driver-network")),
    "iproute2",
)
_INSTALL = """set -e
unshare --mount sh -ec '
  mount --bind /dev "$0/dev"
  mount -t proc proc "$0/proc"
  DEBIAN_FRONTEND=noninteractive chroot "$0" \\
    apt-get install --yes --no-install-recommends "$@"' "$@"
mkdir -p "$1/dev/net"
mknod "$1/dev/net/tun" c 10 200
"""
_START = """set -e
for place in run etc/libvirt var/lib/libvirt var/log/libvirt; do
  mkdir -p "$0/$place" "$1/$place"
  mount --bind "$1/$place" "$0/$place"
done
# libvirt asks for the name of the host, and nobody would answer
echo 127.0.0.1 localhost "$(hostname)" > "$1/hosts"
mount --bind "$1/hosts" "$0/etc/hosts"
[ "$0" = / ] || mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
mount -t sysfs sysfs "$0/sys"
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
ip route add default dev br0
chroot "$0" libvirtd &
wait  # as the first of its processes, for guests that end too
"""
_NETWORK = "<network><name>default</name><forward mode='bridge'/><bridge name='br0'/></network>"
_SOCKET = "run/libvirt/libvirt-sock"
_CONF = {"qemu.conf": _QEMU_CONF.read_text() + '\nstdio_handler = "file"\n',
         "libvirtd.conf": 'auth_unix_rw = "none"\n'}  # fmt: skip


def programs(release: str) -> Path | None:
    """The folder of a release's ``qemu-system-*``; None: they are in the PATH."""
    return None if release == HERE else _installed(release) / "bin"


@contextmanager
def libvirtd(release: str) -> Iterator[str]:
    """The URI of a libvirtd of that release that was just started."""
    require("ip", "unshare")
    root = Path("/") if release == HERE else _installed(release) / "root"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = Path(folder)
        (own / "etc/libvirt").mkdir(parents=True)
        for name, text in _CONF.items():
            (own / "etc/libvirt" / name).write_text(text)
        alone = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child")
        with (own / "log").open("w") as log:
            daemon = subprocess.Popen([*alone, "sh", "-c", _START, root, own], stderr=log)
        try:
            wait_for(lambda: (own / _SOCKET).exists() or daemon.poll() is not None, "libvirtd")
            if daemon.poll() is not None:
                raise RigError(f"libvirtd of {release}: {(own / 'log').read_text()[-2000:]}")
            yield f"qemu+unix:///system?socket={own / _SOCKET}"
        finally:
            daemon.kill()
            daemon.wait()


@contextmanager
def connection(release: str) -> Iterator[Any]:
    """A connection to a libvirtd of its own, which has a network ``default`` on its bridge."""
    libvirt: Any = importlib.import_module("libvirt")
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    with libvirtd(release) as uri:
        opened = libvirt.open(uri)
        try:
            opened.networkCreateXML(_NETWORK)
            yield opened
        finally:
            opened.close()


def _installed(release: str) -> Path:
    """The folder with a release's ``root`` and, in ``bin``, what runs its QEMUs from outside."""
    require("debootstrap", "unshare")
    key = cache.digest(release, _INSTALL, *_PACKAGES)
    return cache.cached(f"release-{release}", key, lambda folder: _install(release, folder))


def _install(release: str, folder: Path) -> None:
    root, programs = folder / "root", folder / "bin"
    run("debootstrap", "--variant=minbase", release, root, mirror(), timeout=1800)
    run("sh", "-c", _INSTALL, "sh", root, *_PACKAGES, timeout=1800)
    programs.mkdir()
    for name in sorted(path.name for path in (root / "usr/bin").glob("qemu-system-*")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec chroot "${{0%/bin/*}}/root" {shlex.quote(name)} "$@"\n')
        script.chmod(0o755)


def main(arguments: list[str]) -> int:
    """Run a libvirtd for somebody else."""
    release = arguments[0] if arguments else HERE
    with libvirtd(release) as uri:
        print(uri, programs(release) or "", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
