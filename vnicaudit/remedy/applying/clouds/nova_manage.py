"""``nova-manage image_property``: show and set the properties that Nova stores for a server.

Source: ``ImagePropertyCommands`` and ``main`` in nova/cmd/manage.py (Nova 34.0.0; 25.3.0 to 30.0.0
end with the same codes, and 29.0.2 was seen to). The documentation has 4 and 5 of ``set`` the other
way round (nova/doc/source/cli/nova-manage.rst).

There is no command that unsets a property.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.base.wording import UUID
from vnicaudit.errors import ActionError, TargetError
from vnicaudit.model.runs import ServerState
from vnicaudit.remedy.applying.journal.events import (
    HalfSet,
    NotSet,
    Properties,
    Set,
    Setting,
    Settled,
)
from vnicaudit.remedy.applying.journal.journal_file import Entry
from vnicaudit.remedy.hypervisor import (
    MANAGE_JOBS,
    CommandOutput,
    ConnectHypervisor,
    Hypervisor,
    Machine,
    NovaManage,
)
from vnicaudit.remedy.replacing import UnitRefusedError

_SET = {
    1: "an unexpected error: see nova-manage.log on the controller",
    2: "it does not know this server: is it the controller of another cloud?",
    3: "Nova accepts no change in the server's current state: it must be stopped or shelved",
    4: "a property without a value",
    5: "it does not know this property",
    6: "not a valid value for the property",
}
_SHOW = {1: _SET[1], 2: _SET[2]}
_ANY = {
    126: "no permission to run it there",
    127: "command not found there: name it with VNICAUDIT_NOVA_MANAGE_COMMAND",
    255: "it crashed, or the connection to where it runs was lost",
}
_REFUSALS = frozenset({2, 3, 4, 5, 6, 126, 127})
"""Exit codes after which nothing was written. With any other code (255 from ssh, 137 of a killed
process, 1 from kubectl) something may have been, and if only the connection was lost, nova-manage
may still be working."""
_UNEXPECTED = "Unexpected error"
"""The message of nova-manage before it ends with 1: before, between or after its two writes."""
_NOT_SET = 3
_USAGE = 2
"""The exit code of argparse, too."""
_WITHOUT = "this nova-manage has no image_property command: it is older than Nova 25 (Yoga)"
_SHOWN_MAX = 300
_VALUE_MAX = 255
"""Maximum length of a value that Nova stores: ``instance_system_metadata.value`` in
nova/db/main/models.py."""
_VERSION = re.compile(r"^(\d{1,3})\.\d", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_VALUE = re.compile(r"[A-Za-z0-9_.:,-]{1,100}")


class NotSetError(ActionError):
    """nova-manage ended and did not set the properties."""


class HalfSetError(ActionError):
    """nova-manage ended, and may have set all of the properties or part of them."""


def _nothing() -> None:
    """Default of ``begins``: nothing needs to be recorded."""


class Manage:
    """The nova-manage of one run. Any thread may use it; at most ``jobs`` calls run at a time."""

    def __init__(self, run: NovaManage | None, jobs: int = MANAGE_JOBS) -> None:
        self._run = run
        self._turns = threading.BoundedSemaphore(jobs)
        self._lock = threading.Lock()
        self._release: int | None = None
        self._asked = False
        self.proven = False
        """True once nova-manage has shown that it knows a server of this cloud."""

    def release(self) -> int | None:
        """The major version of this nova-manage, asked for once; None if it does not say. Raises
        ActionError if it cannot be run."""
        with self._lock:
            if not self._asked:
                output = self._call(("version",))
                found = _VERSION.search(output.text)
                if output.code != 0:
                    raise ActionError(_words("version", output, {}))
                self._release = int(found.group(1)) if found else None
                self._asked = True
            return self._release

    def show(self, server_id: str, name: str) -> str | None:
        """The value that Nova stores for a property of a server; None if it is not set. Raises
        ActionError if it cannot be read."""
        output = self._call(("image_property", "show", server_id, name))
        if output.code in (0, _NOT_SET):
            self.proven = True
            return _value(output) if output.code == 0 else None
        raise ActionError(_words("show", output, _SHOW))

    def set_properties(
        self,
        server_id: str,
        properties: Mapping[str, str | None],
        begins: Callable[[], None] = _nothing,
    ) -> None:
        """Set these properties of a stopped server in one call. ``begins`` is called when it is
        this call's turn, just before nova-manage starts; if it raises, nova-manage is not started.
        From then on the change may take effect late, but never while the call waits for others.
        Raises NotSetError if Nova did not accept the properties, HalfSetError if that is unknown,
        ActionError if the result of the call is unknown."""
        words = [
            word for name, value in properties.items() for word in ("--property", f"{name}={value}")
        ]
        output = self._call(("image_property", "set", server_id, *words), begins)
        if output.code != 0:
            raise _kind(output)(_words("set", output, _SET))

    def _call(
        self, arguments: tuple[str, ...], begins: Callable[[], None] = _nothing
    ) -> CommandOutput:
        if self._run is None:
            raise ActionError("this needs nova-manage on a controller: set VNICAUDIT_NOVA_MANAGE")
        with self._turns:
            begins()
            return self._run(arguments)


def _kind(output: CommandOutput) -> type[ActionError]:
    if output.code in _REFUSALS:
        return NotSetError
    return HalfSetError if output.code == 1 and _UNEXPECTED in output.text else ActionError


def check_words(server_id: str, properties: Mapping[str, str | None]) -> None:
    """Raises RefusedError for words that nova-manage would misread: it splits at each equals sign,
    and a word with a leading hyphen is an option."""
    if UUID.fullmatch(server_id) is None:
        raise UnitRefusedError(f"{server_id[:60]!r} is not a server id", "plan")
    for name, value in properties.items():
        if _NAME.fullmatch(name) is None:
            raise UnitRefusedError(f"{name[:60]!r} is not an image property", "plan")
        if value is None:
            raise UnitRefusedError(
                f"{name} cannot be unset: nova-manage has no command for it", "nova-manage"
            )
        if _VALUE.fullmatch(value) is None:
            raise UnitRefusedError(f"{name}: nova-manage cannot set {value[:60]!r}", "nova-manage")


def _value(output: CommandOutput) -> str | None:
    """The last line of the output: a wrapper around the command may print lines before it."""
    lines = output.text.strip().splitlines()
    return lines[-1].strip()[:_VALUE_MAX] if lines else None


def _words(command: str, output: CommandOutput, codes: Mapping[int, str]) -> str:
    name = command if command == "version" else f"image_property {command}"
    if output.code == _USAGE and "usage:" in output.errors.lower() and command != "version":
        return _WITHOUT
    meaning = {**_ANY, **codes}.get(output.code)
    text = " ".join((output.text.strip() or output.errors.strip()).split())[-_SHOWN_MAX:]
    parts = [f"nova-manage {name} ended with {output.code}", f" ({meaning})" if meaning else ""]
    return "".join((*parts, f": {text}" if text else ""))


# Compute nodes whose libvirt can be reached: domains are read there, nothing is changed.


HOST = "{host}"
"""Placeholder for the node's name in the URI template; the template of a cloud with one node has
none."""
_NAME_NODES = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}")


class NodeDomain(NamedTuple):
    """The domain of a server, and its host."""

    host: Hypervisor
    machine: Machine


class Nodes:
    """Compute nodes, connected to when they are needed, until ``stack`` is left. ``template``: the
    URI of a node's libvirt (``qemu+ssh://{host}/system``); empty: none can be reached. Any thread
    may use it."""

    def __init__(
        self, template: str, deadline: float, stack: ExitStack, connect: ConnectHypervisor
    ) -> None:
        self._template = template
        self._deadline = deadline
        self._stack = stack
        self._connect = connect
        self._lock = threading.Lock()
        self._open: dict[str, Hypervisor] = {}
        self._unreachable: dict[str, str] = {}

    def of(self, state: ServerState) -> NodeDomain:
        """The domain of a server. Raises ActionError with the reason if it cannot be read,
        NoResponseError if its host stopped answering."""
        if not self._template:
            raise ActionError("its domain cannot be reached: set VNICAUDIT_LIBVIRT_OF_HOST")
        if state.host is None:
            raise ActionError("Nova does not report its host")
        if _NAME_NODES.fullmatch(state.host) is None:
            raise ActionError("the name of its host is not a valid host name")
        host = self._host(state.host)
        return NodeDomain(host, host.machine(state.id))

    def _host(self, name: str) -> Hypervisor:
        """The node of that name. Each is tried once only, whether it can be reached or not."""
        with self._lock:
            if name in self._unreachable:
                raise ActionError(self._unreachable[name])
            if name not in self._open:
                self._open[name] = self._connected(name)
            return self._open[name]

    def _connected(self, name: str) -> Hypervisor:
        try:
            host = self._connect(self._template.replace(HOST, name), deadline=self._deadline)
        except TargetError as error:
            self._unreachable[name] = str(error)
            raise ActionError(str(error)) from None
        self._stack.callback(host.close)
        return host


# The result of every ``nova-manage image_property set``, as the journal of a server records it.
#
# nova-manage saves the instance and then its request specification (``_update_image_properties`` in
# nova/cmd/manage.py, Nova 34.0.0), and the second cannot be read anywhere: both are known to be
# saved only if it ended with 0. A line ``setting`` is followed by ``set`` (it ended with 0), ``not
# set`` (it saved nothing), ``half set`` (it ended, and may have saved one of the two), or by none
# of them: its result is unknown, and it may still be working.


class UnseenSet(NamedTuple):
    """A set whose result is unknown."""

    line: Entry
    properties: Properties


def doubtful(entries: Iterable[Entry]) -> tuple[Properties, ...] | None:
    """The properties that may be half set since the last set that ended with 0, one mapping for
    each set, in order; None if no set has been recorded."""
    found: list[Properties] = []
    known = False
    for entry in entries:
        match entry.event:
            case Setting(properties=properties):
                found.append(properties)
            case Set() | Settled():
                found, known = [], True
            case NotSet():
                found = found[:-1]
    return tuple(found) if found or known else None


def unseen(entries: Iterable[Entry]) -> tuple[UnseenSet, ...]:
    """The sets whose result is unknown, in order."""
    found: list[UnseenSet] = []
    ended = True
    for entry in entries:
        match entry.event:
            case Setting(properties=properties):
                found.append(UnseenSet(entry, properties))
                ended = False
            case Set() | NotSet() | HalfSet() if not ended:
                found.pop()
                ended = True
            case Settled():
                found, ended = [], True
    return tuple(found)
