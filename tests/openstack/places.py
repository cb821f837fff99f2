"""The product in a process that ends, or signals another one, at a chosen place.

    python -m tests.openstack.places ORDER WORD...

runs ``vnicaudit WORD...`` where the cloud is. The product has no hook for it: lines of the journal,
files of the state folder and all that changes a server are wrapped here, as in tests/rig/hooks.py.
"""

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from vnicaudit.base import files
from vnicaudit.base.deadlines import timestamp
from vnicaudit.cli.main import run
from vnicaudit.cli.wiring.adapters import Controller
from vnicaudit.platforms.openstack.control import Control
from vnicaudit.remedy.applying.journal import journal_file
from vnicaudit.remedy.applying.journal.events import Event, name_of

_ORDERS = ("stop", "start", "hard_reboot")
_SET = ("image_property", "set")


class Fault(msgspec.Struct, frozen=True):
    """What happens when a place is passed for the ``number``-th time, from 1: ``signal`` is sent to
    ``process`` (as the cloud counts processes; minus that of a group); None: to the command's own.
    """

    place: str
    number: int
    process: int | None = None
    signal: int = signal.SIGKILL


class Passed(msgspec.Struct, frozen=True):
    """A place that was passed: ``what`` is the line's event, the file's name, the call."""

    place: str
    what: str
    fault: bool = False


class Order(msgspec.Struct, frozen=True):
    """``log`` is the file that places are noted in."""

    log: str
    fault: Fault | None = None


class _Places:
    """Wraps what passes them, notes each, and has the fault happen at its place."""

    def __init__(self, order: Order) -> None:
        self._fault = order.fault
        self._log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()  # servers are worked on side by side

    def watch(self) -> None:
        """From now on."""
        journal_file.Journal.write = self._line(journal_file.Journal.write)  # type: ignore[method-assign]
        files.os = _Os(self._file)  # type: ignore[attr-defined, assignment]
        for name in _ORDERS:
            setattr(Control, name, self._call(name, getattr(Control, name)))
        Controller.__call__ = self._manage(Controller.__call__)  # type: ignore[method-assign]

    def _pass(self, place: str, what: str) -> bool:
        """Whether the fault is here."""
        with self._lock:
            self._seen[place] += 1
            fault = self._fault
            here = fault is not None and (fault.place, fault.number) == (place, self._seen[place])
            os.write(self._log, msgspec.json.encode(Passed(place, what, here)) + b"\n")
        return here

    def _happen(self) -> None:
        if self._fault is not None:
            os.kill(self._fault.process or os.getpid(), self._fault.signal)

    def _at(self, place: str, what: str) -> None:
        if self._pass(place, what):
            self._happen()

    def _line(self, real: Callable[..., journal_file.Entry]) -> Callable[..., journal_file.Entry]:
        def write(one: journal_file.Journal, event: Event, unit: str = "") -> journal_file.Entry:
            name = name_of(event)
            self._at("before line", name)
            if self._pass("within line", name):
                text = journal_file.encoded(journal_file.Entry(timestamp(), event, unit), 1)
                with one._lock:
                    os.write(one._descriptor, text[: len(text) // 2])
                    self._happen()
            entry = real(one, event, unit)
            self._at("behind line", name)
            return entry

        return write

    def _file(self, part: Any, path: Any) -> None:
        name = os.path.basename(path)
        self._at("before file", name)
        os.replace(part, path)
        self._at("behind file", name)

    def _call(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._at("before call", name)
            result = real(*arguments, **named)
            self._at("behind call", name)
            return result

        return call

    def _manage(self, real: Callable[..., Any]) -> Callable[..., Any]:
        setting = self._call("set", real)

        def manage(one: Controller, arguments: tuple[str, ...]) -> Any:
            does = setting if tuple(arguments[:2]) == _SET else real
            return does(one, arguments)

        return manage


class _Os:
    """``os``, but for the one function that puts a file in its place."""

    def __init__(self, replace: Callable[[Any, Any], None]) -> None:
        self.replace = replace

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


if __name__ == "__main__":
    _Places(msgspec.json.decode(sys.argv[1], type=Order)).watch()
    code = run(sys.argv[2:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
