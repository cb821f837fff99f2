"""The interface to a platform for fixing files in place: a module ``write`` in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from vnicaudit.model.file_kind import Item
from vnicaudit.model.finding import Change
from vnicaudit.model.location import Location
from vnicaudit.text.edits import Edit


class PlatformWriter(Protocol):
    """Writes changes into descriptions of one kind."""

    @property
    def ENTAILED(self) -> Mapping[str, tuple[str, ...]]:
        """Field -> other fields that change with it, because they make no sense without it."""

    @property
    def SHARED(self) -> frozenset[str]:
        """Fields that one setting decides for all NICs of a domain."""

    @property
    def OWNER_REWRITES(self) -> bool:
        """True if these definitions may be written by an owner that regenerates them (Nova,
        KubeVirt, oVirt): they then follow from the owner's own description and are left as they
        are."""

    def edits_for(self, data: bytes, place: Location, change: Change) -> list[Edit]:
        """The edits of a file's bytes that make ``change`` at ``place``, as a finding names it.
        Raises OwnedError if the owner regenerates that text, RefusedError if the change cannot be
        written there."""

    def text_of(self, data: bytes) -> str:
        """The file's text, for display; undecodable bytes as surrogates."""


Writers = Callable[[Item], PlatformWriter | None]
"""The platform of a description -> its writer; None: such descriptions cannot be changed in files
(QEMU command lines, images, flavors)."""


@runtime_checkable
class Remembering(Protocol):
    """A writer whose platform caches files that others refer to."""

    def note_replaced(self, before: bytes, after: bytes) -> None:
        """Called when a file's content has changed."""
