"""The part of an XML element that the readers of a domain use, whoever parsed it: lxml, or nobody,
because it is of a known shape (:mod:`vnicaudit.platforms.domain_xml.shapes`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar, overload

T = TypeVar("T")


class XmlElement(Protocol):
    """Named and typed as in lxml."""

    @property
    def tag(self) -> object:
        """The name, with its namespace in braces; no string for what is no element."""

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
        """Attributes, in the order of the document."""

    def find(self, path: str, /) -> XmlElement | None:
        """The first of :meth:`iterfind`."""

    def iterfind(self, path: str, /) -> Iterator[XmlElement]:
        """The elements at a path of names."""

    def iterchildren(self, *tags: str) -> Iterator[XmlElement]:
        """The children of these names; ``*`` for all."""

    def iter(self, tag: str, /) -> Iterator[XmlElement]:
        """The element itself and all that is inside of it, where they have this name."""
