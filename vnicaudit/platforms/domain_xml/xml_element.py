"""The part of an XML element's interface that the readers of a domain use. The element comes from
lxml, or from a known shape without parsing (:mod:`vnicaudit.platforms.domain_xml.shapes`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar, overload

T = TypeVar("T")


class XmlElement(Protocol):
    """Named and typed as in lxml."""

    @property
    def tag(self) -> object:
        """The name, with its namespace in braces; not a string if it is not an element."""

    @property
    def text(self) -> str | None:
        """The text before its first child."""

    @property
    def sourceline(self) -> int | None:
        """The line of the element in its document."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[XmlElement]: ...

    @overload
    def get(self, key: str, /) -> str | None: ...

    @overload
    def get(self, key: str, default: T, /) -> str | T: ...

    def items(self) -> list[tuple[str, str]]:
        """Attributes, in document order."""

    def find(self, path: str, /) -> XmlElement | None:
        """The first of :meth:`iterfind`."""

    def iterfind(self, path: str, /) -> Iterator[XmlElement]:
        """The elements at a path of names."""

    def iterchildren(self, *tags: str) -> Iterator[XmlElement]:
        """The children of these names; ``*``: all."""

    def iter(self, tag: str, /) -> Iterator[XmlElement]:
        """The element itself and all elements inside it that have this name."""
