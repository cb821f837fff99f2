"""What is done with the text of a definition, by whatever platform can read and write it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from importlib import import_module
from typing import Protocol, cast

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.location import Location


class Reading(Protocol):
    """``definitions`` in the platform's folder."""

    def definition_of(self, data: bytes, target: str) -> Domain:
        """What a definition says. Raises TargetError for what is none."""

    def ports_of(self, data: bytes) -> tuple[int, ...] | None:
        """Indexes of the PCI Express port controllers; None where there is no PCI controller."""

    def document_at(self, data: bytes, xpath: str) -> tuple[int, int] | None:
        """Where the document of the domain with that path begins and ends among the others of a
        file; None where it is the only one, or not found by its bytes."""

    def power_off_action(self, data: bytes) -> str:
        """What happens when the guest powers itself off: ``destroy``, ``restart`` …"""

    def children_of(self, data: bytes, number: int) -> dict[str, str]:
        """What stands in the NIC of that number (from 1): tag -> its text, in short."""

    def shares_slot(self, data: bytes, number: int) -> bool:
        """Whether another device has a function of the PCI slot of the NIC of that number."""

    def uses_iommu(self, data: bytes) -> bool:
        """Whether a virtio device of the domain is made to go through an IOMMU."""

    def memory_kib(self, data: bytes) -> int | None:
        """The guest's memory at most, in KiB."""

    def other_changes(self, before: bytes, after: bytes, macs: Collection[str]) -> tuple[str, ...]:
        """What differs beside the NICs with these MACs."""

    def not_taken(self, wanted: bytes, got: bytes, mac: str) -> tuple[str, ...]:
        """What of a NIC's wanted text is not in the text that came of it."""


class Likeness(Protocol):
    """``likeness`` in the platform's folder: whether two texts are one definition."""

    def same(self, one: bytes, other: bytes) -> bool:
        """Whether they differ in nothing but the order of controllers, which libvirt chooses."""

    def unlike(self, wanted: bytes, got: bytes) -> tuple[str, ...]:
        """What of ``got`` is not as wanted, one clause each; a PCI controller more is allowed."""

    def rearranged(self, wanted: bytes, got: bytes) -> str:
        """What libvirt made otherwise of controllers, as words that follow "libvirt"."""


class Elements(Protocol):
    """``pieces`` in the platform's folder: a NIC's own text."""

    def interface_of(self, data: bytes, number: int) -> bytes:
        """The text of the NIC of that number (from 1)."""

    def with_interface(self, data: bytes, number: int, element: bytes) -> bytes:
        """The definition with another text for that NIC."""

    def interface_number(self, data: bytes, mac: str) -> int | None:
        """The number of the one NIC with that MAC."""

    def for_attach(self, data: bytes, number: int) -> bytes:
        """The NIC's text made fit to stand alone."""

    def beside(self, data: bytes, number: int, mac: str) -> bytes:
        """The same for a second NIC like it, with that MAC address."""


class Writer(Protocol):
    """``write`` in the platform's folder."""

    def rewritten(self, data: bytes, place: Location, changes: Iterable[Change]) -> bytes:
        """The text with these changes of the NIC at ``place``."""

    def all_rewritten(
        self, data: bytes, wanted: Iterable[tuple[Location, Iterable[Change]]]
    ) -> bytes:
        """The text with the changes of several NICs, each at a place of its own."""


def reading() -> Reading:
    """How definitions are read and compared."""
    return cast(Reading, import_module("vnicaudit.platforms.domain_xml.definitions"))


def likeness() -> Likeness:
    """How definitions are held against each other."""
    return cast(Likeness, import_module("vnicaudit.platforms.domain_xml.likeness"))


def elements() -> Elements:
    """How the text of one NIC is taken out and put in."""
    return cast(Elements, import_module("vnicaudit.platforms.domain_xml.pieces"))


def rewritten(data: bytes, number: int, changes: Iterable[Change]) -> bytes:
    """The only definition of ``data`` with these changes of one NIC; see :func:`changed_at`."""
    return changed_at(data, f"/domain/devices/interface[{number}]", changes)


def changed_at(data: bytes, xpath: str, changes: Iterable[Change]) -> bytes:
    """The text with these changes of the NIC there, made one after the other. Raises OwnedError
    and RefusedError as the platform's writer does."""
    return _writer().rewritten(data, Location("", xpath=xpath), changes)


def all_changed(data: bytes, wanted: Iterable[tuple[str, Iterable[Change]]]) -> bytes:
    """The text with the changes of several NICs, each at a path of its own; raises as
    :func:`changed_at` does."""
    places = [(Location("", xpath=xpath), changes) for xpath, changes in wanted]
    return _writer().all_rewritten(data, places)


def _writer() -> Writer:
    return cast(Writer, import_module("vnicaudit.platforms.domain_xml.write"))
