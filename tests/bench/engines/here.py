"""An endpoint that is this machine: programs run as children of the test, each in a process group
of its own, and nothing outlives :meth:`Here.close`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from vnicaudit.model.measurement import Ran

_GRACE = 2.0
"""Seconds between TERM and KILL."""


class HereStarted:
    """A program of this machine that runs on. Its output goes to files: no pipe can fill up."""

    def __init__(self, argv: Sequence[str], url: str, environment: dict[str, str]) -> None:
        self.argv, self._url = tuple(argv), url
        self._files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        self._since = time.monotonic()
        self._ran: Ran | None = None
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self._files[0],
            stderr=self._files[1],
            start_new_session=True,
            env=environment,
        )

    def running(self) -> bool:
        return self.process.poll() is None

    def wait(self, seconds: float) -> Ran:
        try:
            self.process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            return self.stop()
        return self._end(self.process.returncode)

    def stop(self) -> Ran:
        if not self.running():
            return self._end(self.process.returncode)
        self.kill(signal.SIGTERM)
        try:
            self.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGKILL)
            self.process.wait()
        return self._end(None)

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the program and its children."""
        if self.running():
            os.killpg(self.process.pid, number)

    def _end(self, code: int | None) -> Ran:
        if self._ran is None:
            said = [self._read(file) for file in self._files]
            code = None if code is None or code < 0 else code
            seconds = time.monotonic() - self._since
            self._ran = Ran(self.argv, code, said[0], said[1], seconds, self._url)
        return self._ran

    def _read(self, file: IO[bytes]) -> str:
        with file:
            file.seek(0)
            return file.read().decode("utf-8", "replace")


class Here:
    """This machine. ``programs``: a folder whose programs come before those of PATH."""

    def __init__(self, url: str = "local", programs: Path | None = None) -> None:
        self.url = url
        self.environment = dict(os.environ)
        if programs is not None:
            self.environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self._folder: Path | None = None
        self.started: list[HereStarted] = []
        self.commands: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        assert stdin == b"", "nobody needed it yet"
        if not shutil.which(argv[0], path=self.environment["PATH"]):
            self.commands.append(tuple(argv))
            return Ran(tuple(argv), 127, "", f"{argv[0]}: not found", 0.0, self.url)
        return self.start(argv, seconds=seconds).wait(seconds)

    def start(self, argv: Sequence[str], *, seconds: float) -> HereStarted:
        assert seconds > 0
        self.commands.append(tuple(argv))
        program = shutil.which(argv[0], path=self.environment["PATH"]) or argv[0]
        started = HereStarted([program, *argv[1:]], self.url, self.environment)
        self.started.append(started)
        return started

    def put_file(self, name: str, data: bytes) -> str:
        assert "/" not in name
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="here-"))
        path = self._folder / name
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        return str(path)

    def close(self) -> None:
        for started in self.started:
            started.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder)
            self._folder = None

    def __enter__(self) -> Here:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
