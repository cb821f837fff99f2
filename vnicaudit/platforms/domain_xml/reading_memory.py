"""Cache of results of readers for elements with known shapes, by the values that they read.

A reader that is given an element of the same shape, and finds the same value wherever it reads one,
returns the same result. Which values it reads is recorded while it reads them, never listed by
hand. The exception are values that identify something: a reader only copies them, and they are
replaced for the next element.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import itemgetter
from typing import Generic, SupportsIndex, TypeVar, overload

from vnicaudit.platforms.domain_xml.lookup_budget import PER_HIT, LookupBudget
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode

T = TypeVar("T")

MOST = 4096
"""Maximum number of cached results, and of shapes of elements."""
_LONG = 2048
"""Characters; an element with more is unusual, and not cached."""


class _NotedValues(list[str]):
    """The values of a document; it records which of them are read."""

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
    """The positions of the values that were read so far from elements of one shape; compared by
    identity, so that results stored with fewer positions are no longer found."""

    __slots__ = ("settings", "slots")

    def __init__(self, slots: frozenset[int]) -> None:
        self.slots = slots
        self.settings: Callable[[list[str]], object]
        self.settings = itemgetter(*sorted(slots)) if slots else _nothing


def _nothing(_values: list[str]) -> object:
    return ()


class ReadingMemory(Generic[T]):
    """The cached results of one reader, limited in number. Threads may share it.

    Shapes of elements are kept alive by cached results: whoever drops shapes must clear this too.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[_Layout, int, object], T] = {}
        self._layouts: dict[ShapedNode, _Layout] = {}
        self._budget = LookupBudget()

    def find(self, element: ShapedElement, base: int = 0) -> T | None:
        """The result for an equal element, regardless of identity. ``base``: what the result
        depends on besides the element."""
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
        """Cache the reader's result for an element. ``identity``: positions of the values that it
        only copies."""
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
        """Drop all results, and with them the shapes of their elements."""
        self._results.clear()
        self._layouts.clear()

    def _layout(self, node: ShapedNode, slots: set[int]) -> _Layout:
        """The layout of a shape, with these positions and those read before."""
        if len(self._results) >= MOST or len(self._layouts) >= MOST:
            self.clear()  # bounded; refilled as needed
        known = self._layouts.get(node)
        if known is not None and known.slots.issuperset(slots):
            return known
        layout = _Layout(frozenset(slots) if known is None else known.slots.union(slots))
        self._layouts[node] = layout
        return layout
