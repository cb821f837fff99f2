"""The hosts of a run."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.state import StateFolder
from vnicaudit.remedy.hypervisor import Hypervisor, connect

_FILES = "files"


class Hosts:
    """Connected, and held, until ``stack`` is left. ``deadline``: seconds libvirt may take for
    one answer; ``hold``: whether other runs are kept away."""

    def __init__(
        self, state: StateFolder, deadline: float, stack: ExitStack, *, hold: bool = True
    ) -> None:
        self._state = state
        self._deadline = deadline
        self._stack = stack
        self._open: dict[str, Hypervisor] = {}
        self._held: set[str] = set()
        self._hold_them = hold

    def open(self, units: Iterable[UnitSheet]) -> None:
        """Connect to the hosts of these units, and keep other runs away from them, or from files.
        Raises TargetError and RefusedError."""
        for unit in units:
            if unit.file is not None:
                self._hold(_FILES, "files of this machine")
            elif unit.target not in self._open:
                host = connect(unit.target, deadline=self._deadline)
                self._stack.callback(host.close)
                self._hold(host.key, host.name)
                self._open[unit.target] = host

    def of(self, unit: UnitSheet) -> Hypervisor | None:
        """The host of a unit; None for a file."""
        return None if unit.file is not None else self._open[unit.target]

    def _hold(self, key: str, name: str) -> None:
        if self._hold_them and key not in self._held:
            self._stack.enter_context(self._state.held(key, name))
            self._held.add(key)
