"""``nova-manage image_property``: what Nova keeps for a server, shown and set.

Source: ``ImagePropertyCommands`` and ``main`` in nova/cmd/manage.py (Nova 34.0.0; 25.3.0 to 30.0.0
end with the same codes, and 29.0.2 was seen to). The documentation has 4 and 5 of ``set`` the other
way round (nova/doc/source/cli/nova-manage.rst).
There is no command that unsets a property.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping

from vnicaudit.errors import ActionError, RefusedError
from vnicaudit.remedy.cloud import MANAGE_JOBS, NovaManage, Said

_SET = {
    1: "an unexpected error, which nova-manage.log on the controller tells",
    2: "it knows no such server: is it the controller of another cloud?",
    3: "the server is in a state in which Nova takes no change: it must be stopped or shelved",
    4: "a property without a value",
    5: "it knows no property of that name",
    6: "a value that the property cannot have",
}
_SHOW = {1: _SET[1], 2: _SET[2]}
_ANY = {
    126: "it may not be run there",
    127: "there is no such command there: name it with --nova-manage-command",
    255: "it crashed, or the connection to where it runs was lost",
}
_REFUSALS = frozenset({2, 3, 4, 5, 6, 126, 127})
"""Nothing was written. With any other code (255 from ssh, 137 of what was killed, 1 from kubectl)
it may have been, and where the connection alone was lost, nova-manage may still be at work."""
_UNEXPECTED = "Unexpected error"
"""What it says before it ends with 1: before, between or behind its two writes."""
_NOT_SET = 3
_USAGE = 2
"""What argparse ends with, as well."""
_WITHOUT = "this nova-manage knows no image_property: it is older than Nova 25 (Yoga)"
_SHOWN_MAX = 300
_VALUE_MAX = 255
"""Of what Nova keeps: ``instance_system_metadata.value`` in nova/db/main/models.py."""
_VERSION = re.compile(r"^(\d{1,3})\.\d", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_VALUE = re.compile(r"[A-Za-z0-9_.:,-]{1,100}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NotSetError(ActionError):
    """nova-manage came to its end, and did not set it."""


class HalfSetError(ActionError):
    """nova-manage came to its end, and may have set it, or half of it."""


def _nothing() -> None:
    """Nobody wants to know when it begins."""


class Manage:
    """The nova-manage of one run. Any thread may use it; ``jobs`` run at a time."""

    def __init__(self, run: NovaManage | None, jobs: int = MANAGE_JOBS) -> None:
        self._run = run
        self._turns = threading.BoundedSemaphore(jobs)
        self._lock = threading.Lock()
        self._release: int | None = None
        self._asked = False
        self.proven = False
        """It was seen to know a server."""

    def release(self) -> int | None:
        """The major version of this nova-manage, asked for once; None: it does not say. Raises
        ActionError where it cannot be run."""
        with self._lock:
            if not self._asked:
                said = self._said(("version",))
                found = _VERSION.search(said.text)
                if said.code != 0:
                    raise ActionError(_words("version", said, {}))
                self._release = int(found.group(1)) if found else None
                self._asked = True
            return self._release

    def show(self, server_id: str, name: str) -> str | None:
        """What Nova keeps of a property for a server; None: it is not set. Raises ActionError."""
        said = self._said(("image_property", "show", server_id, name))
        if said.code in (0, _NOT_SET):
            self.proven = True
            return _value(said) if said.code == 0 else None
        raise ActionError(_words("show", said, _SHOW))

    def set(
        self,
        server_id: str,
        properties: Mapping[str, str | None],
        begins: Callable[[], None] = _nothing,
    ) -> None:
        """Set these of a server that is stopped, all in one. ``begins`` is called when it is this
        one's turn, just before it is started, and not started where that raises: from then on it
        may come late, and not while it waits for others. Raises NotSetError where Nova did not
        take them, HalfSetError where that is not known, ActionError where its end was not seen."""
        words = [
            word for name, value in properties.items() for word in ("--property", f"{name}={value}")
        ]
        said = self._said(("image_property", "set", server_id, *words), begins)
        if said.code != 0:
            raise _kind(said)(_words("set", said, _SET))

    def _said(self, arguments: tuple[str, ...], begins: Callable[[], None] = _nothing) -> Said:
        if self._run is None:
            raise ActionError("nova-manage is needed for this, and not known where it is")
        with self._turns:
            begins()
            return self._run(arguments)


def _kind(said: Said) -> type[ActionError]:
    if said.code in _REFUSALS:
        return NotSetError
    return HalfSetError if said.code == 1 and _UNEXPECTED in said.text else ActionError


def check_words(server_id: str, properties: Mapping[str, str | None]) -> None:
    """Raises RefusedError for what nova-manage would take for something else: it splits at each
    equals sign, and a word with a leading hyphen is an option."""
    if _UUID.fullmatch(server_id) is None:
        raise RefusedError(f"{server_id[:60]!r} is no server's id")
    for name, value in properties.items():
        if _NAME.fullmatch(name) is None:
            raise RefusedError(f"{name[:60]!r} is no name of an image property")
        if value is None:
            raise RefusedError(f"{name} cannot be unset: nova-manage has no command for it")
        if _VALUE.fullmatch(value) is None:
            raise RefusedError(f"{name}: nova-manage cannot set {value[:60]!r}")


def _value(said: Said) -> str | None:
    """The last line: what a wrapper around the command says comes before."""
    lines = said.text.strip().splitlines()
    return lines[-1].strip()[:_VALUE_MAX] if lines else None


def _words(command: str, said: Said, codes: Mapping[int, str]) -> str:
    name = command if command == "version" else f"image_property {command}"
    if said.code == _USAGE and "usage:" in said.errors.lower() and command != "version":
        return _WITHOUT
    meaning = {**_ANY, **codes}.get(said.code)
    text = " ".join((said.text.strip() or said.errors.strip()).split())[-_SHOWN_MAX:]
    parts = [f"nova-manage {name} ended with {said.code}", f" ({meaning})" if meaning else ""]
    return "".join((*parts, f": {text}" if text else ""))
