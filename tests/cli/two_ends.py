"""Two network namespaces and a line between them, for the commands that measure."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench.endpoints.left import until
from tests.cli.command import SCRIPT
from tests.not_run import not_run

FAST = """\
title = "One run of TCP each way, of a second"
repeats = 1
catastrophe-only = true
guards = []
cooldown = 0
max-steal = 100
max-cpu-wait = 100

[[workload]]
engine = "iperf3"
patterns = ["tcp"]
directions = ["tx", "rx"]
connections = [1]
sizes = ["64K"]
seconds = 1
warmup = 0
"""

HELD = """\
from vnicaudit.bench.endpoints import opening
opening.open_endpoint.__kwdefaults__["lease"] = 600.0
"""
"""What a command leaves running is there for longer than a test waits for its end: no lease ends it
meanwhile."""


class TwoEnds(NamedTuple):
    """Names of namespaces; the target is 192.0.2.1, the peer 192.0.2.2."""

    target: str
    peer: str
    profile: Path

    @property
    def path(self) -> str:
        return f"netns://{self.target},netns://{self.peer}"

    def processes(self) -> list[int]:
        """What runs in either of them. To be waited for: what was killed is in its namespace for a
        moment longer than whoever killed it can see its mark."""
        found = []
        for name in (self.target, self.peer):
            listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, check=True)
            found += [int(pid) for pid in listed.stdout.split()]
        return found


@contextmanager
def two_ends(folder: Path, suite: str) -> Iterator[TwoEnds]:
    """Made, and gone afterwards."""
    if os.getuid() != 0 or shutil.which("ip") is None or shutil.which("iperf3") is None:
        not_run(suite, "it needs root, iproute2 and iperf3")
    target, peer = (f"vnc{os.getpid()}{end}" for end in "ab")
    profile = folder / "fast.toml"
    profile.write_text(FAST)
    with ExitStack() as stack:
        for name in (target, peer):
            subprocess.run(["ip", "netns", "add", name], check=True)
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
        link = f"link add eth0 type veth peer name eth0 netns {peer}"
        _ip(target, link)
        for name, address in ((target, "192.0.2.1/24"), (peer, "192.0.2.2/24")):
            for words in ("link set lo up", f"addr add {address} dev eth0", "link set eth0 up"):
                _ip(name, words)
        yield TwoEnds(target, peer, profile)


def _ip(name: str, words: str) -> None:
    subprocess.run(["ip", "-n", name, *words.split()], check=True)


class Running:
    """A command that was begun. ``patch``: Python that is run before it."""

    def __init__(self, *arguments: str | Path, patch: str = "", folder: Path) -> None:
        code = f"{patch}\nimport sys\nfrom vnicaudit.cli.main import run\nraise SystemExit(run())"
        words = [sys.executable, "-c", code] if patch else [sys.executable, str(SCRIPT)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("VNICAUDIT_")}
        self.folder = folder / "tmp"
        self.folder.mkdir()
        self._process = subprocess.Popen(
            [*words, *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment | {"COLUMNS": "100", "TMPDIR": str(self.folder)},
        )  # fmt: skip

    def until_it_measures(self, ends: TwoEnds) -> None:
        """Wait until iperf3 runs at both ends."""

        def measures() -> bool:
            assert self._process.poll() is None, self._process.communicate()
            names = [_name(pid) for pid in ends.processes()]
            return names.count("iperf3") >= 2

        until(measures, "iperf3 runs at both ends")

    def signalled(self, number: signal.Signals) -> subprocess.CompletedProcess[str]:
        """How it ends when it gets that signal."""
        self._process.send_signal(number)
        return self.ended()

    def ended(self) -> subprocess.CompletedProcess[str]:
        """How it ends by itself."""
        out, err = self._process.communicate(timeout=300)
        return subprocess.CompletedProcess(
            self._process.args, self._process.returncode, out.decode(), err.decode()
        )

    def left(self) -> list[str]:
        """Temporary files and folders of this machine's ends that are still there."""
        return sorted(os.listdir(self.folder))


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # ended meanwhile
        return ""
