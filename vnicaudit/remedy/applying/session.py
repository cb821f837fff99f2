"""The hosts, clouds and locks that one command has opened, and the services that its drivers
use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from typing import TypeVar, cast

from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.cloud import CloudAccess

T = TypeVar("T")


class Session:
    """Open, and held, until ``stack`` is left. ``adapters`` and ``reach`` are what drivers are made
    of; ``deadline``: seconds the other side may take for one answer; ``hold``: whether other runs
    are kept away, and all is looked at before something is changed."""

    def __init__(
        self,
        adapters: Adapters,
        reach: CloudAccess,
        state: StateFolder,
        deadline: float,
        stack: ExitStack,
        *,
        hold: bool = True,
    ) -> None:
        self.adapters = adapters
        self.reach = reach
        self.deadline = deadline
        self.holds = hold
        self._state = state
        self._stack = stack
        self._held: set[str] = set()
        self._made: dict[Hashable, object] = {}

    def once(self, make: Callable[[Session], T]) -> T:
        """The object that ``make`` makes of this session, made once and reused."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(T, self._made[make])

    def closing(self, close: Callable[[], None]) -> None:
        """Have that called in the end."""
        self._stack.callback(close)

    def hold(self, key: str, name: str) -> None:
        """Keep other runs away from a place. Raises HeldError where one is at work there."""
        if self.holds and key not in self._held:
            self._stack.enter_context(self._state.lock(key, name))
            self._held.add(key)

    @property
    def stack(self) -> ExitStack:
        """The exit stack that is unwound when the command ends."""
        return self._stack
