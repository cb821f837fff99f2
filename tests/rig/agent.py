"""The guest agent of a domain: ask it things, run programs through it."""

import base64
import importlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.rig.errors import RigError
from tests.rig.process import PATIENCE, wait_for


@dataclass(frozen=True)
class Ran:
    """How a program in a guest ended."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    def output(self) -> str:
        """Standard output of a program that must have succeeded."""
        if self.exit_code:
            said = self.stderr + self.stdout[-2000:]
            raise RigError(f"{' '.join(self.argv)}: exit code {self.exit_code}: {said}")
        return self.stdout


class Agent:
    """Speaks to the agent in a running domain (a libvirt.virDomain)."""

    def __init__(self, domain: Any) -> None:
        self._domain = domain
        self._libvirt: Any = importlib.import_module("libvirt")
        self._libvirt_qemu: Any = importlib.import_module("libvirt_qemu")

    def call(self, command: str, *, seconds: int = PATIENCE, **arguments: object) -> Any:
        """What the agent returns for a command of its protocol; it has `seconds` to answer."""
        request = json.dumps({"execute": command, "arguments": arguments})
        try:
            answer = self._libvirt_qemu.qemuAgentCommand(self._domain, request, seconds, 0)
        except self._libvirt.libvirtError as error:
            raise RigError(f"{command}: {error}") from error
        return json.loads(answer)["return"]

    def answers(self) -> bool:
        """Whether an agent is there now."""
        try:
            self.call("guest-ping", seconds=5)
        except RigError:
            return False
        return True

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> Ran:
        """Run a program to its end; one that takes longer than `timeout` seconds is killed."""
        program, *rest = argv
        started = self.call("guest-exec", path=program, arg=rest, **{"capture-output": True})
        pid = started["pid"]
        end = time.monotonic() + timeout
        while not (status := self.call("guest-exec-status", pid=pid))["exited"]:
            if time.monotonic() > end:
                self.call("guest-exec", path="sh", arg=["-c", f"kill -9 {pid}"])
                raise RigError(f"{' '.join(argv)}: no end after {timeout:.0f} s in the guest")
            time.sleep(0.1)
        # A program that a signal ended has no exit code; shells count from 128.
        code = status.get("exitcode", 128 + status.get("signal", 0))
        return Ran(tuple(argv), code, _text(status, "out-data"), _text(status, "err-data"))

    def wait(self, *, seconds: float) -> None:
        """Wait for the agent of a guest that is booting."""
        wait_for(self.answers, f"agent of {self._domain.name()} answers", seconds=seconds)


def _text(status: dict[str, Any], key: str) -> str:
    return base64.b64decode(status.get(key, "")).decode(errors="replace")
