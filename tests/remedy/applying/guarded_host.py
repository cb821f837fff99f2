"""A host whose way of management can be cut: a network namespace with an sshd, another one from
which it is changed, and a switch between them that takes no jumbo frames.

Run as a program it is what changes the host: it can be killed like one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec.structs import replace
from testinfra.host import get_host

from tests.not_run import not_run
from tests.remedy.applying.fakes import Stage
from tests.remedy.applying.settings_host import step_to
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.hypervisor import CloudAccess

DEVICE, MTU, JUMBO = "eth0", 1500, 9000
_PATIENCE = 300.0
_LINES = """\
netns add {0}-h
netns add {0}-s
netns add {0}-c
-n {0}-s link add br0 type bridge
-n {0}-s link add h0 type veth peer name eth0 netns {0}-h
-n {0}-s link add c0 type veth peer name eth0 netns {0}-c
-n {0}-s link set h0 master br0 up
-n {0}-s link set c0 master br0 up
-n {0}-s link set br0 up
-n {0}-h addr add 10.9.8.1/24 dev eth0
-n {0}-h link set eth0 up
-n {0}-h link set lo up
-n {0}-c addr add 10.9.8.2/24 dev eth0
-n {0}-c link set eth0 mtu 9000 up
"""
_SSHD = """\
ListenAddress 10.9.8.1
HostKey {0}/host
AuthorizedKeysFile {0}/user.pub
PidFile none
StrictModes no
UsePAM no
"""


class GuardedHost(NamedTuple):
    """The names of its namespaces begin with ``name``; ``folder``: keys, and the state of runs;
    ``sockets``: where a program that is killed leaves its own."""

    name: str
    folder: Path
    sockets: str

    @property
    def target(self) -> str:
        """As vnicaudit names it."""
        options = f"known_hosts={self.folder}/known&ssh_identity_file={self.folder}/user"
        return f"ssh://root@10.9.8.1?{options}"

    def run(self, command: str) -> str:
        """What a command prints there, by another way than the network."""
        host = get_host("local://")
        return host.check_output("ip netns exec %s sh -c %s", f"{self.name}-h", command)

    def seen(self) -> str:
        """Everything about its link."""
        return self.run(
            "ip -d link show eth0; ethtool -k eth0; grep -r . /sys/class/net/eth0/queues"
        )

    def start(self, action: str, value: int, seconds: int, state: str) -> subprocess.Popen[str]:
        """The program that changes it (``apply``), or takes back a run (``rollback``, the newest by
        ``value`` 0)."""
        words = [sys.executable, "-m", __name__, action, self.target, str(value), str(seconds)]
        return subprocess.Popen(
            ["ip", "netns", "exec", f"{self.name}-c", *words, str(self.folder / state)],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "TMPDIR": self.sockets},
        )  # fmt: skip

    def told(self, action: str, value: int, seconds: int, state: str) -> tuple[str, str]:
        """Outcome and message of that program, run to its end."""
        out, _err = self.start(action, value, seconds, state).communicate(timeout=_PATIENCE)
        outcome, message = json.loads(out.splitlines()[-1])
        return outcome, message

    @property
    def mtu(self) -> int:
        """Of its link."""
        return int(self.run("cat /sys/class/net/eth0/mtu"))

    def timer(self, state: str) -> str:
        """The state of the timer of the one run in that folder; empty: it has none yet."""
        for run in (self.folder / state).glob("runs/*"):
            found = {file.name for file in Path("/run/vnicaudit").glob(f"{run.name}-*/*")}
            return next(iter(found - {"undo"}), "")
        return ""

    def lines(self, state: str) -> int:
        """Lines of the journal so far."""
        files = list((self.folder / state).glob("runs/*/journal.jsonl"))
        return sum(file.read_text().count("\n") for file in files)


def until(fact: Callable[[], bool], what: str) -> float:
    """Seconds until it is so."""
    began = time.monotonic()
    while not fact():
        assert time.monotonic() < began + _PATIENCE, f"not {what}"
        time.sleep(0.005)
    return time.monotonic() - began


def kill(process: subprocess.Popen[str]) -> None:
    """End it and its ssh at once, as by the loss of its machine."""
    with suppress(ProcessLookupError), process:  # it may have ended
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def guarded_host(folder: Path) -> Iterator[GuardedHost]:
    """A running one."""
    with TemporaryDirectory(prefix="vng-", dir="/tmp") as sockets:  # paths of sockets are short
        yield from _running(GuardedHost(f"vng{os.getpid()}", folder, sockets))


def _running(host: GuardedHost) -> Iterator[GuardedHost]:
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if os.geteuid() or sshd is None or shutil.which("ip") is None or shutil.which("ssh") is None:
        not_run("tests", "a host with sshd needs root, iproute2, ssh and sshd")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    folder = host.folder
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    (folder / "known").write_text(f"10.9.8.1 {(folder / 'host.pub').read_text()}")
    (folder / "sshd").write_text(_SSHD.format(folder))
    try:
        for line in _LINES.format(host.name).splitlines():
            subprocess.run(["ip", *line.split()], check=True)
        words = ["ip", "netns", "exec", f"{host.name}-h", str(sshd), "-D", "-f", f"{folder}/sshd"]
        with subprocess.Popen(words) as process:
            try:
                until(lambda: "10.9.8.1:22" in host.run("ss -Hltn"), "sshd listens")
                yield host
            finally:
                process.terminate()
    finally:
        for part in ("h", "s", "c"):
            subprocess.run(["ip", "netns", "del", f"{host.name}-{part}"], check=False)


def main(action: str, target: str, value: str, seconds: str, state: str) -> None:
    """Change the MTU of the host's link, or take that back."""
    stage = Stage(Path(state))
    stage.deadline = float(seconds) / 2
    stage.reach = CloudAccess(trusted=frozenset({target}))
    stage.adapters = adapters()
    context = stage.context(confirm_seconds=float(seconds))
    if action == "apply":
        with closing(stage.adapters.host(target, 20)) as place:
            facts = place.facts()
        links = (replace(link, mtu=MTU) for link in facts.links or () if link.name == DEVICE)
        step = step_to(replace(facts, links=tuple(links)), target, {f"mtu:{DEVICE}": value})
        done = stage.apply((step,), context)
    else:
        (done, *_others) = stage.rollback(context, run=runs(state)[int(value)].id)
    (unit,) = done.run.steps
    print(json.dumps((unit.outcome, unit.message or done.stopped)))


if __name__ == "__main__":
    main(*sys.argv[1:])
