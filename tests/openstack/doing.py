"""Commands of the product that run where the cloud is, each with a fault of its own."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.cli.command import as_in_a_shell
from tests.openstack.cloud import Cloud
from tests.openstack.places import Fault, Order, Passed
from tests.openstack.remedy import child_of

_SECONDS = 1200


class Did(NamedTuple):
    """A command that ended: its code (minus the signal that ended it), what it said, the places it
    passed, after how many seconds."""

    code: int
    said: str
    passed: tuple[Passed, ...]
    seconds: float

    @property
    def hit(self) -> bool:
        """Whether its fault happened."""
        return any(one.fault for one in self.passed)


class Doing:
    """A command of the product that runs from now on, where the cloud is."""

    def __init__(self, cloud: Cloud, words: Sequence[str | Path], env: Mapping[str, str],
                 fault: Fault | None = None) -> None:  # fmt: skip
        self._folder = tempfile.TemporaryDirectory(prefix="vnicaudit-")
        self._log, output = (Path(self._folder.name, name) for name in ("log", "output"))
        order = msgspec.json.encode(Order(str(self._log), fault)).decode()
        given, named = as_in_a_shell(words)
        command = [sys.executable, "-m", "tests.openstack.places", order, *given]
        self._output = output.open("w+")
        self._process = subprocess.Popen(
            cloud.machine.namespaces.command(*command),
            env={**cloud.environment(), **named, **env},
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._began = time.monotonic()

    def kill(self) -> None:
        """End it now, if it has not ended."""
        with suppress(ProcessLookupError, FileNotFoundError, ValueError):
            os.kill(child_of(self._process.pid), signal.SIGKILL)

    def passed(self) -> tuple[Passed, ...]:
        """The places until now."""
        if not self._log.exists():
            return ()
        lines = self._log.read_bytes().splitlines()
        return tuple(msgspec.json.decode(line, type=Passed) for line in lines)

    def hit(self) -> bool:
        """Whether its fault has happened, or cannot any more."""
        return self._process.poll() is not None or any(one.fault for one in self.passed())

    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def wait(self) -> Did:
        """How it ended."""
        code = self._process.wait(_SECONDS)
        took = time.monotonic() - self._began
        self._output.seek(0)
        did = Did(code, self._output.read(), self.passed(), took)
        self._output.close()
        self._folder.cleanup()
        return did
