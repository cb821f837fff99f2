"""The live hosts of a run. Hosts that have to be waited for are read ahead, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.reading.error_boundary import guarded

if TYPE_CHECKING:
    from vnicaudit.audit.reading.platform import Platforms
    from vnicaudit.audit.reading.targets import Met, Target
    from vnicaudit.model.live import LiveOptions


class Machines:
    """Reads what runs on live hosts."""

    def __init__(self, hosts: Iterable[Target], platforms: Platforms, options: LiveOptions) -> None:
        self._platforms = platforms
        self._options = options
        self._ahead = [host for host in hosts if self._waits(host)]
        self._read_ahead: Iterator[Iterator[Met]] | None = None

    def items(self, target: Target) -> Iterator[Met]:
        """The items of one live target. Ask for them in the order of ``hosts``."""
        if target not in self._ahead:
            return self._reading(target)()
        if self._read_ahead is None:
            from vnicaudit.audit.reading.side_by_side import read_ahead  # for live hosts alone

            self._read_ahead = read_ahead([self._reading(each) for each in self._ahead])
        return next(self._read_ahead)

    def _waits(self, target: Target) -> bool:
        kind = self._platforms.kind_of(target)
        return kind is not None and kind.waits(target.name)

    def _reading(self, target: Target) -> Callable[[], Iterator[Met]]:
        """Reads the domains that run at a target, once it is called."""
        kind = self._platforms.kind_of(target)
        if kind is None or kind.read is None:
            raise KeyError(target.kind)
        read, options = kind.read, self._options
        if len(self._ahead) > 1:
            from vnicaudit.audit.reading.side_by_side import CALLS

            options = replace(options, calls=options.calls or CALLS)
        return lambda: guarded(target.name, read(target.name, options))
