"""Machines and pods that are nothing but namespaces: each has a network, processes, a view of /sys
and, where this machine lets us, a cgroup of its own. With its first process, all in it ends."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.rig.errors import Missing
from tests.rig.process import run, wait_for

_CGROUPS, _PREFIX = Path("/sys/fs/cgroup"), "vnicaudit"
_CLEAN = ("env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
REAPER = ("sh", "-c", "trap : CHLD; while :; do sleep 1000 & wait; done")
"""The first process of a machine: it takes the orphans, as an init does."""
_SETUP = """\
read -r pid rest </proc/self/stat
hostname "${1%%.*}"
mount -t sysfs sysfs /sys
[ -z "$2" ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t proc proc /proc
ip link set lo up
echo "$pid"
exec >/dev/null 2>&1
shift 2
exec "$@"
"""


class Space:
    """One that is there when this returns, with the part before a dot as its host name.
    ``inside``: the machine whose it is, with which it ends; otherwise it ends with this process,
    however that ends. ``joined``: it has that one's network. ``command``: its first process, with
    whose end it ends; ``user``: by whom that and all others are run, without any capability.
    Raises Missing where this machine does not let us."""

    def __init__(
        self, name: str, inside: Space | None = None, command: tuple[str, ...] = REAPER,
        *, user: int | None = None, joined: bool = False,
    ) -> None:  # fmt: skip
        self.pid: int
        self.name, self.has_network = name, not joined
        self.cgroup = _cgroup(inside, name)
        self._drop = drop = () if user is None else _unprivileged(user)
        network = ("-n",) if joined else ()
        into = ("nsenter", "-t", str(inside.pid), "-p", "-C", *network) if inside else ()
        own = () if joined else ("-n",)
        unshare = ("unshare", *own, "-m", "-p", "-u", "-C", "--fork", "--kill-child")
        setup = ("sh", "-ec", _SETUP, "sh", name, str(self.cgroup or ""), *drop, *command)
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *self._joined(), *into, *unshare, *setup],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        if not told:
            raise Missing(f"no namespaces for {name}: {self.process.communicate()[1].strip()}")
        self.pid = int(told)

    @property
    def network(self) -> str:
        """The path of its network namespace."""
        return f"/proc/{self.pid}/ns/net"

    @property
    def before(self) -> tuple[str, ...]:
        """The words before a command that is to run in it."""
        into = ("nsenter", "-t", str(self.pid), "-n", "-m", "-p", "-u", "-C", "--")
        return (*self._joined(), *into, *_CLEAN, *self._drop)

    def run(self, *words: str) -> str:
        """What a program says that runs in it, as root."""
        into = ("nsenter", "-t", str(self.pid), "-n", "-m", "-p", "-u", "-C", "--")
        return run(*self._joined(), *into, *words)

    def ip(self, words: str) -> None:
        """Change its network by ``ip``."""
        run("nsenter", "-t", str(self.pid), "-n", "ip", *words.split())

    def limit(self, nic: str, rate: str) -> None:
        """So much leaves by a NIC, at most; with an empty rate, as much as may."""
        how = f"tbf rate {rate} burst 1mb latency 5ms" if rate else "noqueue"
        words = f"tc qdisc replace dev {nic} root {how}"
        run("nsenter", "-t", str(self.pid), "-n", *words.split())

    def end(self) -> None:
        """End all that is in it."""
        with suppress(ProcessLookupError):
            if self.process.poll() is None:
                os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        if self.cgroup:
            cgroup = self.cgroup
            wait_for(lambda: _removed(cgroup), f"{cgroup} is removed", seconds=10)

    def _joined(self) -> tuple[str, ...]:
        """The words by which a command joins its cgroup."""
        if self.cgroup is None:
            return ()
        join = f'echo 0 >{shlex.quote(str(self.cgroup))}/cgroup.procs; exec "$@"'
        return "sh", "-c", join, "sh"


def _cgroup(inside: Space | None, name: str) -> Path | None:
    """A new one, of version 2, within that of its machine; None where there can be none."""
    trees = (_CGROUPS, _CGROUPS / "unified")
    tree = next((one for one in trees if (one / "cgroup.controllers").exists()), None)
    if tree is None or (inside and inside.cgroup is None):
        return None
    above = inside.cgroup if inside and inside.cgroup else tree
    for left in tree.glob(f"{_PREFIX}-*-*") if inside is None else ():
        if not Path("/proc", left.name.split("-")[1]).exists():
            _removed(left)  # of a process that was killed
    made = above / (name if inside else f"{_PREFIX}-{os.getpid()}-{name}")
    try:
        made.mkdir()
    except OSError:
        return None
    return made


def _removed(cgroup: Path) -> bool:
    """With those in it, and their processes: one that changed its user outlives what began it, and
    those that were killed are there for a moment."""
    with suppress(OSError):
        for listed in (cgroup, *cgroup.glob("*/")):
            for pid in map(int, (listed / "cgroup.procs").read_text().split()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for one in sorted(cgroup.glob("*/"), reverse=True):
            one.rmdir()
        cgroup.rmdir()
    return not cgroup.exists()


def _unprivileged(user: int) -> tuple[str, ...]:
    ids = (f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs")
    return ("setpriv", *ids, "--inh-caps=-all", "--bounding-set=-all")
