"""The namespaces that the testbed lives in: made, entered by programs and by this process.

They are mounts, network and processes. Whoever ends their first process ends all that runs there.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.rig.errors import RigError
from tests.rig.process import run, wait_for

DAEMON = Path(__file__).parent / "testbed/daemon.sh"
_CLONE_NEWNET = 0x40000000
# Their first process. It reaps orphans; unless kept it ends when its input does, and that does with
# the process that made it, however that ends.
_FIRST = "while read -r _; do :; done"
_FIRST_KEPT = "while :; do sleep 3600 & wait; done"


class Namespaces:
    """Those of a process that runs there, by its id outside; ``maker`` is ours to end."""

    def __init__(self, pid: int, maker: subprocess.Popen[bytes] | None = None) -> None:
        self.pid = pid
        self._maker = maker

    @property
    def root(self) -> Path:
        """The root of their file system, as seen from outside."""
        return Path(f"/proc/{self.pid}/root")

    def exist(self) -> bool:
        """Whether that process lives, and has made itself a machine of its own (private.sh)."""
        return (self.root / "run/testbed").exists()

    def command(self, *argv: str | Path) -> list[str]:
        """A command that runs another one inside, in the same working folder."""
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid"]
        return [*enter, f"--wdns={Path.cwd()}", "--", *map(str, argv)]

    def run(
        self,
        *argv: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        timeout: float = 900,
    ) -> subprocess.CompletedProcess[str]:
        """How a program ended that was run inside."""
        command = self.command(*argv)
        try:
            return subprocess.run(
                command, env=env, input=stdin, timeout=timeout, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise RigError(f"{' '.join(command)}: no end after {timeout:.0f} s") from error

    def output(
        self, *argv: str | Path, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> str:
        """Standard output of a program that must succeed."""
        ended = self.run(*argv, env=env, stdin=stdin)
        if ended.returncode:
            said = (ended.stderr or ended.stdout)[-2000:]
            shown = " ".join(str(word) for word in argv)
            raise RigError(f"{shown}: exit code {ended.returncode}: {said}")
        return ended.stdout

    @contextmanager
    def network(self) -> Iterator[None]:
        """Sockets that this thread opens meanwhile are of the network inside."""
        with (
            open("/proc/thread-self/ns/net") as outside,
            open(f"/proc/{self.pid}/ns/net") as inside,
        ):
            _enter(inside.fileno())
            try:
                yield
            finally:
                _enter(outside.fileno())

    def end(self) -> None:
        """End every process in them, and wait until they are gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        # the first process is gone when all others are (pid_namespaces(7))
        wait_for(lambda: not _lives(self.pid), "the testbed has ended")
        if self._maker is not None:
            with self._maker:
                pass


def make(*, keep: bool) -> Namespaces:
    """New ones. Unless kept, they end with this process."""
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc"]
    command = [*unshare, "--propagation=private", "bash", "-c", _FIRST_KEPT if keep else _FIRST]
    if keep:
        maker, process = None, int(run("bash", DAEMON, "/dev/null", *command))
    else:
        maker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process = maker.pid
    children = Path(f"/proc/{process}/task/{process}/children")
    first = wait_for(lambda: children.read_text().split(), "namespaces are there")
    return Namespaces(int(first[0]), maker)


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise RigError(f"entering a network namespace: {os.strerror(number)}")
