"""A domain whose guest is this machine: ``guest-exec`` runs here. The real one is in tests/rig."""

import base64
import subprocess
from typing import Any, cast

from vnicaudit.errors import ActionError, GuestError
from vnicaudit.model.host import MachineState
from vnicaudit.remedy.hypervisor import Hypervisor, Machine

RUNNING = MachineState("running", True, False, 0, False, False)
OFF = MachineState("off", True, False, 0, False, False)


class FakeMachine:
    """What the transport asks of a domain, and answers like those of QEMU's agent. ``broken``:
    command -> what it answers instead, or raises."""

    def __init__(self, broken: dict[str, object] | None = None, *, off: bool = False) -> None:
        self.broken = broken or {}
        self.asked: list[str] = []
        self._off = off
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def state(self) -> MachineState:
        """Running, or off."""
        return OFF if self._off else RUNNING

    def ask_agent(self, command: str, seconds: int, **arguments: Any) -> object:
        """As libvirt passes it on."""
        assert seconds > 0
        self.asked.append(command)
        if command in self.broken:
            answer = self.broken[command]
            if isinstance(answer, Exception):
                raise answer
            return answer
        if command == "guest-exec":
            return self._execute(arguments)
        return self._status(arguments["pid"]) if command == "guest-exec-status" else {}

    def _execute(self, arguments: dict[str, Any]) -> dict[str, int]:
        assert arguments["capture-output"] is True
        if "guest-exec-status" in self.broken:
            return {"pid": 1}
        words = [arguments["path"], *arguments["arg"]]
        assert all(len(word) < 128 * 1024 for word in words)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._running[process.pid] = process
        return {"pid": process.pid}

    def _status(self, pid: int) -> dict[str, object]:
        process = self._running[pid]
        try:
            out, err = process.communicate(timeout=0.001)
        except subprocess.TimeoutExpired:
            return {"exited": False}
        del self._running[pid]
        answer: dict[str, object] = {"exited": True, "exitcode": process.returncode}
        if out:
            answer["out-data"] = base64.b64encode(out).decode()
        if err:
            answer["err-data"] = base64.b64encode(err).decode()
        return answer


class FakeHost:
    """A host with one domain, ``web01``."""

    def __init__(self, machine: FakeMachine) -> None:
        self.machine = machine
        self.closed = 0
        self.uris: list[str] = []

    def find(self, name: str) -> Machine:
        """Raises ActionError for any other."""
        if name != "web01":
            said = f"Domain not found: no domain with matching name '{name}'"
            raise ActionError(f"cannot find domain {name}: {said}")
        return cast(Machine, self.machine)

    def close(self) -> None:
        """Count it."""
        self.closed += 1

    def connect(self, uri: str, *, deadline: float) -> Hypervisor:
        """By any URI."""
        assert deadline > 0
        self.uris.append(uri)
        return self.as_host()

    def as_host(self) -> Hypervisor:
        """For the type checker: no more than these is used."""
        return cast(Hypervisor, self)


def agent_error(text: str) -> GuestError:
    """As the platform says what libvirt says."""
    return GuestError(f"cannot ask the guest's agent (guest-exec): {text}")
