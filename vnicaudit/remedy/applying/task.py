"""One domain (or file) on its way from one definition to another: all that is to be remembered
of it before it begins."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Mode
from vnicaudit.text.shell import path_word, uuid_word, word

_ON_NETWORK = ("network", "bridge", "direct", "ethernet")
"""What a running definition may say of a NIC on a network: what it became."""


class Wanted(msgspec.Struct, frozen=True):
    """What is to be of one NIC. ``index`` is its place among the domain's NICs, ``number`` its
    place among the ``<interface>`` elements, from 1."""

    index: int
    number: int
    mac: str
    changes: tuple[Change, ...]

    def inverse(self) -> Wanted:
        """The way back."""
        back = tuple(
            replace(change, old=change.new, new=change.old) for change in reversed(self.changes)
        )
        return replace(self, changes=back)


class Baseline(msgspec.Struct, frozen=True):
    """What a running guest showed before anything was done. ``addresses``: MAC -> what its agent
    says; ``sent``: MAC -> whether the host has seen packets from it; ``known``: MAC -> what the
    host's leases or ARP table say, of a guest without agent."""

    agent: bool = False
    addresses: dict[str, tuple[str, ...]] = {}
    sent: dict[str, bool] = {}
    known: dict[str, str] = {}


class Task(msgspec.Struct, frozen=True):
    """``before`` and ``goal`` are digests of the definitions, passwords included, that are kept in
    the run's folder under ``key``; equal ones: only what runs is to change."""

    key: str
    name: str
    target: str
    steps: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    mode: Mode
    before: str
    goal: str
    uuid: str | None = None
    file: str | None = None
    active: bool = False
    """The guest ran when it began: it is to run when it ends."""
    baseline: Baseline = Baseline()
    exact: bool = False
    """The definition is to be ``goal``, but for the order of controllers: a way back."""

    @property
    def macs(self) -> tuple[str, ...]:
        """MACs of the NICs it is about."""
        return tuple(one.mac for one in self.wanted)


def by_hand(task: Task) -> str:
    """How its NICs are put back without what was kept: a command, and what to write."""
    changes = [
        f"{change.field} of {one.mac}: {change.old or 'not set'}"
        for one in task.wanted for change in one.changes
    ]  # fmt: skip
    if task.file is not None:
        where = path_word(task.file)
    else:
        named = task.uuid is None and not task.name.startswith("-")
        which = word(task.name) if named else uuid_word(task.uuid)
        where = f"virsh -c {word(task.target)} edit {which}"
    return f"{where} ({'; '.join(changes)})"


def unmet(domain: Domain, wanted: tuple[Wanted, ...]) -> tuple[str, ...]:
    """What of it a definition does not say: one clause each, empty where all is as wanted."""
    found: list[str] = []
    for one in wanted:
        nic = nic_of(domain, one.mac)
        if nic is None:
            found.append(f"there is no NIC {one.mac}")
        else:
            found += [f"{change.field} of {one.mac} is {said(nic, change.field) or 'not set'}, "
                      f"not {change.new or 'gone'}"
                      for change in one.changes if not _met(nic, change)]  # fmt: skip
    return tuple(found)


def nic_of(domain: Domain, mac: str) -> Nic | None:
    """The one NIC with that MAC; None where there is none, or more than one."""
    found = [nic for nic in domain.nics if nic.mac == mac and nic.declared.origin == "interface"]
    return found[0] if len(found) == 1 else None


def said(nic: Nic, field: str) -> str | None:
    """What a definition sets, as text; None where it does not, or where the model has no such
    field."""
    value = getattr(nic.declared, field, None)
    return None if value in (None, ()) else str(value)


def _met(nic: Nic, change: Change) -> bool:
    if change.field == "address_type" and change.new is None:
        return said(nic, "address_type") != change.old  # libvirt gives it another
    if not hasattr(nic.declared, change.field):
        return True  # judged by the text of the element, not here
    now = said(nic, change.field)
    if change.new is not None and change.new.startswith("<"):
        return now is not None  # a way back: an element as it stood
    if (change.field, change.new) == ("type", "network"):
        return now in _ON_NETWORK
    return now == change.new
