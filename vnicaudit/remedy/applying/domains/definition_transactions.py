"""The transaction that changes a definition: of a domain on a live host, or in a file."""

from __future__ import annotations

import msgspec

from vnicaudit.base.shell import path_word, uuid_word, word
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.remedy.applying.journal.transaction import NicChanges, Transaction

_ON_NETWORK = ("network", "bridge", "direct", "ethernet")
"""The types that a running definition may show for a NIC on a network, once libvirt has resolved
it."""


class GuestBefore(msgspec.Struct, frozen=True):
    """The state of a running guest before its change. ``addresses``: MAC -> addresses that its
    agent reports; ``sent``: MAC -> True if the host has seen packets from it; ``known``: MAC ->
    entry in the host's leases or ARP table, for a guest without agent."""

    agent: bool = False
    addresses: dict[str, tuple[str, ...]] = {}
    sent: dict[str, bool] = {}
    known: dict[str, str] = {}


class DomainTransaction(Transaction, frozen=True, kw_only=True):
    """The change of a domain on a live host. ``before`` and ``goal`` are digests of the
    definitions, passwords included, that are saved in the run's folder under ``key``; if they are
    equal, only the running guest is to change."""

    before: str
    goal: str
    uuid: str | None = None
    guest_before: GuestBefore = GuestBefore()
    exact: bool = False
    """The definition is to equal ``goal``, except for the order of controllers: in a rollback."""

    def by_hand(self) -> str:
        """How to restore its NICs without the saved text: a command, and the old values."""
        named = self.uuid is None and not self.name.startswith("-")
        which = word(self.name) if named else uuid_word(self.uuid)
        return f"virsh -c {word(self.target)} edit {which} ({_old_values(self.nic_changes)})"


class FileTransaction(Transaction, frozen=True, kw_only=True):
    """The change of definitions in a file. ``before`` and ``goal`` are digests of its content,
    which is saved; ``uuid`` is that of the domain."""

    file: str
    before: str
    goal: str
    uuid: str | None = None

    def by_hand(self) -> str:
        """How to restore its NICs without the saved text: the file, and the old values."""
        return f"{path_word(self.file)} ({_old_values(self.nic_changes)})"


def _old_values(wanted: tuple[NicChanges, ...]) -> str:
    changes = (
        f"{change.field} of {one.mac}: {change.old or 'not set'}"
        for one in wanted for change in one.changes
    )  # fmt: skip
    return "; ".join(changes)


def unmet(domain: Domain, wanted: tuple[NicChanges, ...]) -> tuple[str, ...]:
    """Wanted changes that a definition does not contain, one clause each; empty if it contains them
    all."""
    found: list[str] = []
    for one in wanted:
        nic = nic_of(domain, one.mac)
        if nic is None:
            found.append(f"there is no NIC {one.mac}")
            continue
        for change in one.changes:
            if not _is_met(nic, change):
                now = field_text(nic, change.field) or "not set"
                found.append(f"{change.field} of {one.mac} is {now}, not {change.new or 'gone'}")
    return tuple(found)


def nic_of(domain: Domain, mac: str) -> Nic | None:
    """The one NIC with that MAC; None if there is none, or more than one."""
    found = [nic for nic in domain.nics if nic.mac == mac and nic.declared.origin == "interface"]
    return found[0] if len(found) == 1 else None


def field_text(nic: Nic, field: str) -> str | None:
    """The value of a field in a NIC's definition, as text; None if it is unset, or unknown to the
    model."""
    value = getattr(nic.declared, field, None)
    return None if value in (None, ()) else str(value)


def _is_met(nic: Nic, change: Change) -> bool:
    if change.field == "address_type" and change.new is None:
        return field_text(nic, "address_type") != change.old  # libvirt assigns a new one
    if not hasattr(nic.declared, change.field):
        return True  # judged by the text of the element, not here
    now = field_text(nic, change.field)
    if change.new is not None and change.new.startswith("<"):
        return now is not None  # in a rollback: an element as it was
    if (change.field, change.new) == ("type", "network"):
        return now in _ON_NETWORK
    return now == change.new
