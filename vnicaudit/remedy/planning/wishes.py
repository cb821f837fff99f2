"""What is to become of one NIC: found by making what is proposed, and judging it again.

What only comes up when the model is virtio belongs to the same step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.machines import S390
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.of_old_device import has_qemus_rom
from vnicaudit.model.plan import Loss
from vnicaudit.remedy.definitions import reading
from vnicaudit.remedy.planning.backends import to_backend
from vnicaudit.remedy.planning.judged import Judged
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.policy import NicTuning
from vnicaudit.remedy.planning.source import Source

_ROUNDS = 5
_NEVER_RAN = "it never started with this NIC: there is no name or address in the guest to keep"
_IOMMU = "virtio devices of this guest go through an IOMMU: without it, it has no network"
_ROM = (
    "the boot ROM is for the old device: without it QEMU gives the NIC its own for virtio, and the "
    "guest boots from the network as before"
)
_UNKNOWN_ROM = (
    "the boot ROM, a file of the owner's, is for the old device: it goes with it, and what the "
    "guest booted by it, it does not boot any more"
)
POLICY = "policy"
_ON_CCW = ("model", "address_type", "rom", "acpi")
UNSAFE = "unsafe: {} (--include-unsafe plans it)"


class Wish(NamedTuple):
    """What is to become of a NIC, and why."""

    nic: Nic
    changes: tuple[Change, ...] = ()
    rules: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()


class Wishing:
    """Finds what is to become of NICs. ``devices``: the vDPA devices of this machine; None where
    it was not looked at. ``users``: (target, device or socket) -> a domain that has it already."""

    def __init__(
        self,
        options: PlanOptions,
        devices: tuple[VdpaDevice, ...] | None,
        users: Mapping[tuple[str, str], str],
    ) -> None:
        self._options = options
        self._devices = devices
        self._users = users

    def wish(self, judged: Judged, nic: Nic, tuning: NicTuning | None) -> Wish | None:
        """All changes of one NIC; None where there is none to make. Raises RefusedError where
        they cannot be made."""
        wish = self._converted(judged, nic)
        if wish.blocked:
            return wish
        for change in wish.changes:
            if not (change.safe or self._options.unsafe):
                raise RefusedError(UNSAFE.format(change.reason))
        wish = self._with_findings(judged, wish)
        if any(change.field == "model" and change.new in VIRTIO for change in wish.changes):
            wish = self._with_iommu(judged, self._with_rom(wish))
        elif nic.declared.model not in VIRTIO:
            tuning = None
        wish = self._with_tuning(wish, tuning)
        return wish if wish.changes else None

    def held_back(self, judged: Judged, nic: Nic) -> dict[str, tuple[str, ...]]:
        """Why changes are not made that may hurt the guest, and are not asked for -> the rules
        that propose them."""
        found: dict[str, tuple[str, ...]] = {}
        for finding in judged.proposed(nic, ()):
            change = finding.change
            if change is None or self._may(change, judged, nic):
                continue
            if change.field == "model" and self._options.converts(nic.mac):
                continue  # the conversion has its own
            reason = UNSAFE.format(change.reason)
            found[reason] = (*found.get(reason, ()), finding.rule)
        return found

    def may(self, finding: Finding) -> bool:
        """Whether what it proposes is safe, or unsafe changes are asked for."""
        return self._options.unsafe or finding.change is None or finding.change.safe

    def _with_findings(self, judged: Judged, wish: Wish) -> Wish:
        changes, rules = list(wish.changes), list(wish.rules)
        for _ in range(_ROUNDS):
            done = {change.field for change in changes}
            more = [
                (change, finding.rule)
                for finding in judged.proposed(wish.nic, changes)
                if (change := finding.change) is not None and change.field not in done
                and self._may(change, judged, wish.nic)
            ]  # fmt: skip
            if not more:
                break
            for change, rule in more:
                if change.field not in {one.field for one in changes}:
                    changes.append(_settled(change, judged, wish.nic))
                rules.append(rule)
        return wish._replace(changes=tuple(changes), rules=tuple(dict.fromkeys(rules)))

    def _with_rom(self, wish: Wish) -> Wish:
        """A boot ROM for the old device goes with it. Raises RefusedError for one of which nobody
        knows what it does, unless that is asked for."""
        path, fields = wish.nic.declared.rom_file, {change.field for change in wish.changes}
        if path is None or fields & {"rom", "address_type"}:  # which take all of <rom>
            return wish
        known = has_qemus_rom(path)
        change = Change("rom_file", path, None, known, _ROM if known else _UNKNOWN_ROM)
        if not (known or self._options.unsafe):
            raise RefusedError(UNSAFE.format(change.reason))
        return wish._replace(changes=(*wish.changes, change))

    def _with_iommu(self, judged: Judged, wish: Wish) -> Wish:
        """Guests with encrypted memory on s390x have it on every virtio device."""
        source, now = judged.source, wish.nic.declared.iommu
        if now == "on" or source.domain.declared.arch not in S390 or not _uses_iommu(source):
            return wish
        change = Change("iommu", now, "on", safe=True, reason=_IOMMU)
        return wish._replace(changes=(*wish.changes, change))

    def _with_tuning(self, wish: Wish, tuning: NicTuning | None) -> Wish:
        if tuning is None:
            return wish
        fields = {change.field for change in wish.changes}
        more = tuple(
            change for change in tuning.changes
            if change.field not in fields and (change.safe or self._options.unsafe)
        )  # fmt: skip
        rules = (*wish.rules, POLICY) if more else wish.rules
        return wish._replace(
            changes=wish.changes + more, rules=rules, notes=wish.notes + tuning.notes
        )

    def _converted(self, judged: Judged, nic: Nic) -> Wish:
        """What asking for another backend than a tap comes to."""
        options, source = self._options, judged.source
        if not options.converts(nic.mac):
            return Wish(nic)
        if source.file is not None:
            return Wish(nic, blocked=("a definition in a file is not converted: plan on the host",))
        number = int((nic.location.xpath or "[1]").rpartition("[")[2].rstrip("]"))
        device = options.device(nic.mac)
        made = to_backend(
            options.to, nic, source.domain, source.host,
            reading().children_of(source.text, number), device,
            self._devices if source.local else None, options.socket_mode, options.accepted,
            reading().memory_kib(source.text),
        )  # fmt: skip
        user = self._users.get((source.target, device), source.domain.name)
        taken = () if user == source.domain.name else (f"{device} is used by domain {user}",)
        return Wish(nic, made.changes, (), made.blocked + taken, made.losses, made.notes)

    def _may(self, change: Change, judged: Judged, nic: Nic) -> bool:
        return _settled(change, judged, nic).safe or self._options.unsafe


def _uses_iommu(source: Source) -> bool:
    """Whether its virtio devices go through an IOMMU, as far as that can be told: of several
    definitions in one file, by the NICs."""
    if source.domain.declared.encrypted:
        return True
    if source.alone:
        return reading().uses_iommu(source.text)
    return any(nic.declared.iommu == "on" for nic in source.domain.nics)


def _settled(change: Change, judged: Judged, nic: Nic) -> Change:
    """A change that is only unsafe alone, and goes with another here: a boot ROM is removed with
    the model. On s390x a guest never started with a NIC that does not exist there: there is
    nothing in it to be renamed."""
    if change.field == "model" and not change.safe and _is_safe_without_rom(change, judged, nic):
        return replace(change, safe=True, reason=_ROM)
    if change.field not in _ON_CCW or judged.source.domain.declared.arch not in S390:
        return change
    impossible = any(
        one.severity == "error" and one.change is not None and one.change.field == "model"
        for one in judged.of(nic)
    )
    return replace(change, safe=True, reason=_NEVER_RAN) if impossible else change


def _is_safe_without_rom(change: Change, judged: Judged, nic: Nic) -> bool:
    """Whether a boot ROM for the old device is all that speaks against another model, and QEMU has
    one for that in its place."""
    path = nic.declared.rom_file
    if path is None or not has_qemus_rom(path):
        return False
    without = judged.proposed(nic, (Change("rom_file", path, None, safe=True),))
    models = (one.change for one in without if one.change and one.change.field == change.field)
    return any(one.new == change.new and one.safe for one in models)
