"""A shell at a terminal of its own: keys are typed, and what it makes of the line is read."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests.not_run import not_run

_SECONDS = 120
PROMPT = "ready> "
_START_OF_LINE = "\x01"
_PRINTED = r"<vnicaudit>((?:<[^<>\r\n]*>)*)\r?\n"


class Terminal:
    """One interactive shell. Use as a context manager: it is killed at the end."""

    def __init__(self, shell: str, *words: str, cwd: Path, env: Mapping[str, str]) -> None:
        program = shutil.which(shell)
        if program is None:
            not_run("completion", f"there is no {shell} (scripts/packages/tests.apt)")
        self._process, self._screen = pty.fork()
        if self._process == 0:
            os.chdir(cwd)
            os.execve(program, [shell, *words], dict(env))
        self._seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_error: object) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._screen)

    def wait(self, pattern: str) -> re.Match[str]:
        """Read until the screen shows it; what is behind it is kept."""
        wanted, end = re.compile(pattern), time.monotonic() + _SECONDS
        while (found := wanted.search(self._seen)) is None:
            ready, _, _ = select.select([self._screen], [], [], end - time.monotonic())
            assert ready, f"{pattern} was not seen in {self._seen[-2000:]!r}"
            self._seen += os.read(self._screen, 65536).decode(errors="replace")
        self._seen = self._seen[found.end() :]
        return found

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._screen, keys.encode())

    def completed(self, line: str) -> list[str]:
        """The words of the line once Tab was pressed at its end, without the program."""
        self.send(f"{line}\t{_START_OF_LINE}printf '<%s>' \x05; echo\r")
        words = re.findall("<([^<>]*)>", self.wait(_PRINTED)[1])
        self.wait(PROMPT)
        return words
