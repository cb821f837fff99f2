"""A memory of what readers made of elements of known shapes, by the values that they read.

A reader that is given an element of the same shape, with the same values where it reads any, makes
the same of it: what it read first is the same, so it goes on to read the same, and so on. Which
values it reads is noted while it reads them, and is never told by hand; but for those that say who
somebody is, which a reader only copies and the next one has to be given his own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import itemgetter
from typing import Generic, SupportsIndex, TypeVar, overload

from vnicaudit.platforms.domain_xml.lookup_budget import PER_HIT, LookupBudget
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode

T = TypeVar("T")

MOST = 4096
"""Results that are remembered, and shapes of elements."""
_LONG = 2048
"""Characters. An element that says more is somebody's joke, and not remembered."""


class _NotedValues(list[str]):
    """The values of a document, which note where they are read."""

    def __init__(self, values: list[str]) -> None:
        super().__init__(values)
        self.slots: set[int] = set()

    @overload
    def __getitem__(self, slot: SupportsIndex, /) -> str: ...

    @overload
    def __getitem__(self, slot: slice, /) -> list[str]: ...

    def __getitem__(self, slot: SupportsIndex | slice, /) -> str | list[str]:
        self.slots.update(range(len(self))[slot] if isinstance(slot, slice) else [int(slot)])
        return super().__getitem__(slot)


class _Layout:
    """Where those values stand of an element of one shape that were read so far; equal to itself
    alone, so that what was found by fewer is not found any more."""

    __slots__ = ("settings", "slots")

    def __init__(self, slots: frozenset[int]) -> None:
        self.slots = slots
        self.settings: Callable[[list[str]], object]
        self.settings = itemgetter(*sorted(slots)) if slots else _nothing


def _nothing(_values: list[str]) -> object:
    return ()


class ReadingMemory(Generic[T]):
    """The results of one reader; their number is bounded. Threads may share it.

    The elements of a shape live as long as it knows one of them: who drops shapes clears it, too.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[_Layout, int, object], T] = {}
        self._layouts: dict[ShapedNode, _Layout] = {}
        self._budget = LookupBudget()

    def find(self, element: ShapedElement, base: int = 0) -> T | None:
        """The result for an element like this one, whoever it is. ``base`` is what a result depends
        on beside the element."""
        layout = self._layouts.get(element.node)
        if layout is None:
            return None
        result = self._results.get((layout, base, layout.settings(element.values)))
        if result is not None:
            self._budget.spent -= PER_HIT
        return result

    def read(
        self,
        element: ShapedElement,
        reader: Callable[[ShapedElement], T],
        identity: Collection[int | None],
        base: int = 0,
    ) -> None:
        """Remember what the reader makes of an element. ``identity``: where the values stand that
        it only copies."""
        self._budget.add_miss()
        if self._budget.is_used_up:
            return
        noted = _NotedValues(element.values)
        result = reader(ShapedElement(element.node, noted))
        layout = self._layout(element.node, noted.slots.difference(identity))
        settings = layout.settings(element.values)
        if len(str(settings)) < _LONG:
            self._results[layout, base, settings] = result

    def clear(self) -> None:
        """Forget all results, and with them the shapes of their elements."""
        self._results.clear()
        self._layouts.clear()

    def _layout(self, node: ShapedNode, slots: set[int]) -> _Layout:
        """The layout of a shape, with these slots and those that were read before."""
        if len(self._results) >= MOST or len(self._layouts) >= MOST:
            self.clear()  # bounded; refilled as needed
        known = self._layouts.get(node)
        if known is not None and known.slots.issuperset(slots):
            return known
        layout = _Layout(frozenset(slots) if known is None else known.slots.union(slots))
        self._layouts[node] = layout
        return layout
