"""What fixing in place asks of a platform: a module ``write`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast, runtime_checkable

from vnicaudit.audit.files import Item
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.location import Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.text.edits import Edit

DOMAIN_XML = "domain_xml"

_BY_FORM = {
    "raw": DOMAIN_XML, "dump": DOMAIN_XML, "live": DOMAIN_XML, "manifest": "kubevirt",
}  # fmt: skip


class PlatformWriter(Protocol):
    """Writes changes into descriptions of one kind."""

    ENTAILED: Mapping[str, tuple[str, ...]]
    """Field -> others that change with it, because they make no sense without."""
    SHARED: frozenset[str]
    """Fields that one setting decides for all NICs of a domain."""

    def edits_for(self, data: bytes, place: Location, change: Change) -> list[Edit]:
        """The edits of a file's bytes that make ``change`` at ``place``, as a finding names it.

        Raises OwnedError where somebody else writes that text anew, RefusedError where the change
        cannot be written there.
        """

    def text_of(self, data: bytes) -> str:
        """The file's text, to be shown; undecodable bytes as surrogates."""


@runtime_checkable
class Remembering(Protocol):
    """A writer whose platform remembers files that others refer to."""

    def note_replaced(self, before: bytes, after: bytes) -> None:
        """Be told that a file has another content now."""


def platform_of(item: Item) -> str | None:
    """The platform that can change what was read; None where it is not changed in files (QEMU
    command lines, images, flavors)."""
    if isinstance(item, NovaConfig):
        return "nova_conf"
    if isinstance(item, Preference):
        return "kubevirt"
    return _BY_FORM.get(item.declared.form) if isinstance(item, Domain) else None


def writer_of(platform: str) -> PlatformWriter:
    """A platform's writer, imported when there is something to write."""
    return cast(PlatformWriter, import_module(f"vnicaudit.platforms.{platform}.write"))
