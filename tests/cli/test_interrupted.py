"""Ctrl-C at the worst moment: when Python has looked for signals and the system call that waits
has not begun. That call goes on, then; as it does here, where another thread has the signal."""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.rows import rows

UNHEARD = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
from vnicaudit.__main__ import main
main()
"""
SECONDS = 50
"""Less than all that is waited for: a pipe for 60 s, a host for 600 s, standard input for ever."""


@contextmanager
def begun(*words: str | Path, stdin: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """A command whose main thread gets no signal."""
    given = [word for word in words if not str(word).startswith("VNICAUDIT_")]
    named = [word for word in words if word not in given]
    pipes = [] if stdin == subprocess.DEVNULL else [stdin]
    with subprocess.Popen(
        ["env", *named, sys.executable, "-c", UNHEARD, *given], pass_fds=pipes, stdin=stdin,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def last_words(process: subprocess.Popen[str], is_asking: Callable[[], bool]) -> str:
    """The last line of what a command says that is interrupted when its main thread waits."""
    status = Path(f"/proc/{process.pid}/task/{process.pid}/stat")
    while not is_asking() or status.read_text().rpartition(")")[2].split()[0] != "S":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    return errors.splitlines()[-1]


@rows
def test_while_a_pipe_is_read(words: str, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb"), open(writing, "wb", 0) as pipe:
        pipe.write(b"<domain")
        with begun(*words.format(reading, tmp_path).split(), stdin=reading) as process:
            assert last_words(process, lambda: not _unread(reading)) == "Interrupted."


@pytest.mark.parametrize("command", ["audit", "audit, of two", "audit, of a fleet"])
def test_while_a_host_is_silent(command: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"qemu+tcp://127.0.0.1:{server.getsockname()[1]}/system"
        words: dict[str, list[str | Path]] = {
            "audit": ["audit", uri, "VNICAUDIT_DEADLINE=600"],
            "audit, of two": ["audit", uri, f"{uri}?x=1", "VNICAUDIT_DEADLINE=600"],
            "audit, of a fleet": [
                "audit",
                "-i",
                uri,
                "--state",
                tmp_path,
                "VNICAUDIT_DEADLINE=600",
            ],
        }
        with begun(*words[command]) as process:
            caller = server.accept()[0]
            assert last_words(process, lambda: True) == "Interrupted."
            caller.close()


def _unread(pipe: int) -> int:
    (number,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(number)


_IN_MSGSPEC = """
import atexit, signal, sys
class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == "msgspec._core":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
atexit.register(lambda: print("msgspec is whole:", hasattr(sys.modules.get("msgspec"), "Struct")))
sys.argv[1:] = ["audit", "nova.conf"]
from vnicaudit.__main__ import main
main()
"""


def test_ctrl_c_waits_until_msgspec_is_loaded() -> None:
    """Half loaded, it crashes later."""
    done = subprocess.run(
        [sys.executable, "-c", _IN_MSGSPEC], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "msgspec is whole: True\n")


_IN_AN_IMPORT = """
import sys, time
from vnicaudit.cli.output.process import prepare
prepare()
sys.path.insert(0, sys.argv[1])
import drops_exceptions
while True:
    time.sleep(0.1)
"""


def test_a_signal_is_not_lost_in_a_module_that_drops_exceptions(tmp_path: Path) -> None:
    """Cython's modules and Python's compiler do, while they are loaded: the audit went on, and
    ended with 0."""
    (tmp_path / "drops_exceptions.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGTERM)\n"
        "except BaseException:\n    pass\n"
    )
    words: list[str | Path] = [sys.executable, "-c", _IN_AN_IMPORT, tmp_path]
    done = subprocess.run(words, capture_output=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, b"")
