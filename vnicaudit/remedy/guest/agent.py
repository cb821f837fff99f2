"""The guest, as its own agent shows it: its interfaces, and programs that are run in it.

Answers from a guest are not trusted: their size is bounded, and their content checked.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from vnicaudit.base.identifiers import MAC
from vnicaudit.base.waiting import Clock
from vnicaudit.errors import GuestError
from vnicaudit.model.machine import GuestExit, GuestInterface
from vnicaudit.remedy.hypervisor import Machine

_SECONDS = 10
_PING_SECONDS = 5
_PROGRAM_SECONDS = 30.0
_PAUSE = 0.02
_MANY = 4096
_NAME_MAX = 64


class GuestAgent:
    """Asks one guest. Raises GuestError if the agent does not answer as expected. ``clock`` is used
    to wait for programs in the guest."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self._machine = machine
        self._clock = clock

    def answers(self) -> bool:
        """True if the guest's agent answers now."""
        try:
            self._machine.ask_agent("guest-ping", _PING_SECONDS)
        except GuestError:
            return False
        return True

    def interfaces(self) -> list[GuestInterface]:
        """The guest's network interfaces (``guest-network-get-interfaces``)."""
        answer = self._machine.ask_agent("guest-network-get-interfaces", _SECONDS)
        if not isinstance(answer, list):
            raise GuestError("the guest's agent did not list its interfaces")
        return [_interface(entry) for entry in answer[:_MANY] if isinstance(entry, dict)]

    def execute(
        self, argv: Sequence[str], stdin: bytes = b"", seconds: float = _PROGRAM_SECONDS,
        pauses: Iterable[float] | None = None,
    ) -> GuestExit:  # fmt: skip
        """Run a program in the guest to its end (``guest-exec``); its end is checked for after
        these pauses; None: short ones."""
        program, *words = argv
        arguments: dict[str, object] = {"path": program, "arg": words, "capture-output": True}
        if stdin:
            arguments["input-data"] = base64.b64encode(stdin).decode()
        end = self._clock.monotonic() + seconds
        pid = self._ask("guest-exec", **arguments).get("pid")
        waits = iter(pauses or repeat(_PAUSE))
        while not (status := self._ask("guest-exec-status", pid=pid)).get("exited"):
            if self._clock.monotonic() > end:
                raise GuestError(f"{program} did not end in the guest within {seconds:g} s")
            self._clock.sleep(next(waits))
        return _ran(status)

    def _ask(self, command: str, **arguments: object) -> dict[str, object]:
        answer = self._machine.ask_agent(command, _SECONDS, **arguments)
        if not isinstance(answer, dict):
            raise GuestError(f"the guest's agent did not answer {command} with an object")
        return answer


def by_mac(interfaces: Sequence[GuestInterface]) -> dict[str, GuestInterface]:
    """MAC -> interface, for MACs that only one interface has (a bond's members share theirs). The
    agent lists a labelled address, ``eth0:web``, as an interface of its own (getifaddrs of
    glibc)."""
    whole: dict[tuple[str, str], GuestInterface] = {}
    for one in interfaces:
        if one.mac:
            name = one.name.partition(":")[0]
            seen = whole.get((one.mac, name))
            addresses = one.addresses if seen is None else seen.addresses + one.addresses
            whole[one.mac, name] = GuestInterface(name, one.mac, tuple(dict.fromkeys(addresses)))
    macs = [mac for mac, _name in whole]
    return {mac: one for (mac, _name), one in whole.items() if macs.count(mac) == 1}


def _interface(entry: dict[str, object]) -> GuestInterface:
    mac = str(entry.get("hardware-address") or "").lower()
    return GuestInterface(
        str(entry.get("name") or "")[:_NAME_MAX],
        mac if MAC.fullmatch(mac) else None,
        tuple(_addresses(entry.get("ip-addresses"))),
    )


def _addresses(entries: object) -> Iterator[str]:
    for entry in entries[:_MANY] if isinstance(entries, list) else ():
        try:
            yield str(ipaddress.ip_interface(f"{entry['ip-address']}/{entry['prefix']}"))
        except (ValueError, KeyError, TypeError):
            continue


def _ran(status: dict[str, object]) -> GuestExit:
    if status.get("out-truncated") or status.get("err-truncated"):
        raise GuestError("the guest's agent sent an incomplete answer")
    code = status.get("exitcode")
    if not isinstance(code, int):  # a signal ended it
        code = 255
    return GuestExit(code, _data(status, "out-data"), _data(status, "err-data"))


def _data(status: dict[str, object], key: str) -> bytes:
    try:
        return base64.b64decode(str(status.get(key) or ""), validate=True)
    except (binascii.Error, ValueError):
        raise GuestError("the guest's agent sent invalid output") from None
