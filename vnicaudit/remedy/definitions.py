"""Interfaces for working on the text of a definition, for any platform that can read and write
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.location import Location


class DefinitionReader(Protocol):
    """``definitions`` in the platform's folder."""

    def definition_of(self, data: bytes, target: str) -> Domain:
        """The domain that a definition describes. Raises TargetError for text that is no
        definition."""

    def ports_of(self, data: bytes) -> tuple[int, ...] | None:
        """Indexes of the PCI Express port controllers; None if there is no PCI controller."""

    def document_at(self, data: bytes, xpath: str) -> tuple[int, int] | None:
        """Start and end of the document of the domain with that path among the others of a file;
        None if it is the only one, or cannot be located by its bytes."""

    def power_off_action(self, data: bytes) -> str:
        """The action taken when the guest powers itself off: ``destroy``, ``restart`` …"""

    def children_of(self, data: bytes, number: int) -> dict[str, str]:
        """The child elements of the NIC of that number (from 1): tag -> the element's text,
        shortened."""

    def shares_slot(self, data: bytes, number: int) -> bool:
        """True if another device has a function of the PCI slot of the NIC of that number (from
        1)."""

    def uses_iommu(self, data: bytes) -> bool:
        """True if a virtio device of the domain is configured to go through an IOMMU."""

    def memory_kib(self, data: bytes) -> int | None:
        """The guest's maximum memory, in KiB."""

    def other_changes(self, before: bytes, after: bytes, macs: Collection[str]) -> tuple[str, ...]:
        """The differences outside the NICs with these MACs, one clause each."""

    def missing_parts(self, wanted: bytes, got: bytes, mac: str) -> tuple[str, ...]:
        """The parts of a NIC's text in ``wanted`` that are missing from ``got``, the text that
        libvirt made of it."""


class Likeness(Protocol):
    """``likeness`` in the platform's folder: compares two definitions."""

    def equal_but_controllers(self, one: bytes, other: bytes) -> bool:
        """True if two definitions differ at most in the order of controllers, which libvirt
        chooses."""

    def unlike(self, wanted: bytes, got: bytes) -> tuple[str, ...]:
        """The differences of ``got`` from ``wanted``, one clause each; an added PCI controller is
        not counted."""

    def rearranged(self, wanted: bytes, got: bytes) -> str:
        """The changes that libvirt made to controllers, as words that follow "libvirt"; empty:
        none."""


class Elements(Protocol):
    """``pieces`` in the platform's folder: the text of a single NIC."""

    def interface_of(self, data: bytes, number: int) -> bytes:
        """The text of the NIC of that number (from 1)."""

    def with_interface(self, data: bytes, number: int, element: bytes) -> bytes:
        """The definition with ``element`` as the text of that NIC."""

    def interface_number(self, data: bytes, mac: str) -> int | None:
        """The number of the one NIC with that MAC."""

    def for_attach(self, data: bytes, number: int) -> bytes:
        """The NIC's text, completed so that it can stand alone."""

    def beside(self, data: bytes, number: int, mac: str) -> bytes:
        """The text of a second NIC like the NIC of that number, with the given MAC address,
        completed so that it can stand alone."""


class DefinitionWriter(Protocol):
    """``write`` in the platform's folder."""

    def rewritten(self, data: bytes, place: Location, changes: Iterable[Change]) -> bytes:
        """The text with these changes of the NIC at ``place``."""

    def all_rewritten(
        self, data: bytes, wanted: Iterable[tuple[Location, Iterable[Change]]]
    ) -> bytes:
        """The text with the changes of several NICs, each at a place of its own."""

    def text_of(self, data: bytes) -> str:
        """The text, for display; undecodable bytes as surrogates."""


class Texts(NamedTuple):
    """Functions on the text of definitions, as a platform provides them."""

    reading: DefinitionReader
    likeness: Likeness
    elements: Elements
    writer: DefinitionWriter

    def rewritten(self, data: bytes, number: int, changes: Iterable[Change]) -> bytes:
        """The single definition in ``data`` with these changes of one NIC; see
        :meth:`changed_at`."""
        return self.changed_at(data, f"/domain/devices/interface[{number}]", changes)

    def changed_at(self, data: bytes, xpath: str, changes: Iterable[Change]) -> bytes:
        """The text with these changes of the NIC at that path, made one after the other. Raises
        OwnedError and RefusedError as the platform's writer does."""
        return self.writer.rewritten(data, Location("", xpath=xpath), changes)

    def all_changed(self, data: bytes, wanted: Iterable[tuple[str, Iterable[Change]]]) -> bytes:
        """The text with the changes of several NICs, each at a path of its own; raises as
        :meth:`changed_at` does."""
        places = [(Location("", xpath=xpath), changes) for xpath, changes in wanted]
        return self.writer.all_rewritten(data, places)
