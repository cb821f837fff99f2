"""Interface for wording fixes for one owner of definitions, and the words that all owners share.

A sentence is rendered once, with all known names: no code searches a finished sentence for names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from vnicaudit.base.wording import word
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.fix import (
    Advice,
    AlreadyStaged,
    Command,
    Fix,
    NothingToEdit,
    OpenStack,
    OwnerAdvice,
    OwnersFix,
    RemoveBehind,
    Topic,
)
from vnicaudit.model.names import FixNames
from vnicaudit.model.nic import Nic
from vnicaudit.text.targets import client

# The wording for a change that may do harm.


def unsafe_because(reason: str) -> str:
    """The sentence that follows an unsafe fix."""
    return f"Unsafe: {reason}."


def _unsafe_beside(reason: str) -> str:
    """A reason behind a command, to which a full stop would seem to belong."""
    return f"(unsafe: {reason})"


def without_reason(fix: str, reason: str) -> str:
    """A fix without the reason why it is unsafe."""
    return fix.removesuffix(f" {unsafe_because(reason)}").removesuffix(f" {_unsafe_beside(reason)}")


POWER_CYCLE = "then power the guest off and on."

_GONE = (
    "There is nothing to edit: this NIC is not in the persistent definition and disappears at the "
    "next power cycle. If it should stay, fix this when you add it there."
)
_STAGED = (
    "The change is already pending: the persistent definition has {what}. Power the guest off and "
    "start it again; a reboot inside the guest keeps the old device."
)
_CORRECT = (
    "Correct or remove it in <qemu:override> or <qemu:commandline> of the definition (virsh edit), "
    f"{POWER_CYCLE}"
)
_REMOVE = "Remove {} from {} of the definition (virsh edit)."
_REMOVE_OR = "Remove {} from {} of the definition (virsh edit), or give it {}, " + POWER_CYCLE
_FIRST = (
    "Remove {} of this NIC from <qemu:override> (or -set in <qemu:commandline>) first (virsh "
    "edit): with virtio the guest would not start, or not boot from the network. Then make it "
    "virtio."
)
_FIRST_GLOBAL = (
    "Correct or remove that -global in <qemu:commandline> first (virsh edit); then make the NIC "
    "virtio."
)
_THEN_VIRTIO = Advice(("Then make the NIC virtio.",))
_SHOWN = 60
"""Maximum number of characters of a staged value."""

TOPICS: dict[Topic, Advice] = {
    "connect-network": Advice((
        "Connect it to a libvirt network or a bridge; if only user-mode networking is possible, "
        "use <backend type='passt'/> (libvirt 9.0).",
    )),
    "one-model": Advice((
        "Use one model for all NICs, virtio if the guest has the driver, and tie interface names "
        "to MAC addresses in the guest.",
    )),
    "own-address": Advice((
        "Remove <mac> from the copy, so that it gets a new address; then update DHCP and the "
        "guest's own configuration.",
    )),
    "restart": Advice(("Power the guest off and on at a convenient time.",)),
    "serve-vhostuser": Advice((
        "Use a dpdkvhostuserclient port in Open vSwitch and mode='server' on QEMU's side.",
    )),
    "share-memory": Advice((
        "Share the guest's memory: <memoryBacking> with <source type='memfd'/> (or huge pages) "
        "and <access mode='shared'/>.",
    )),
    "use-kvm": Advice((
        "Run it with KVM: <domain type='kvm'>. The guest sees a different CPU: power it off and "
        "on, "
        "and check it.",
    )),
}  # fmt: skip
"""Advice for owners without wordings of their own; it addresses libvirt's user."""


class OwnedNic(msgspec.Struct, frozen=True):
    """A NIC whose owner keeps the definition, and its findings."""

    domain: Domain
    nic: Nic
    findings: Sequence[Finding]
    """Findings whose proposed change is to be made."""
    file: str | None
    """The file that describes it; None: a live host."""


def own_words(findings: Iterable[Finding]) -> Iterator[str]:
    """Each fix as worded for the owner, without repetition."""
    yield from dict.fromkeys(finding.fix for finding in findings if finding.fix)


class Wording(msgspec.Struct, frozen=True):
    """How fixes are worded for one owner of definitions."""

    edit: Callable[[Change], OwnersFix]
    """Translates a change of a NIC for this owner."""
    words: Callable[[OwnersFix, FixNames], str]
    """Returns the sentence for a fix of ``edit`` or ``in_arguments``."""
    topics: Mapping[Topic, Advice] = {}
    """Advice on topics, if it differs from :data:`TOPICS`."""
    in_arguments: OwnersFix | None = None
    """The fix for a NIC in QEMU's arguments that somebody added to the definition behind the
    owner's back; None: it is changed there."""
    procedure: Callable[[OwnedNic], Iterator[str]] = lambda owned: own_words(owned.findings)
    """Yields commands and sentences, in order, that make the owner apply the changes."""
    backends: Mapping[str, str] = {}
    """``vdpa``, ``vhostuser``: how to connect a NIC to that backend."""
    behind: Callable[[str], OwnersFix] | None = None
    """Returns the fix for a field (empty: several, or another setting) that somebody set behind
    libvirt's settings; None: it is removed from the definition."""


def grows(change: Change) -> bool:
    """True if a change requests more queues than before."""
    return change.new is not None and int(change.old or 1) < int(change.new)


def sentence(fix: Fix, wording: Wording, named: FixNames) -> str:
    """A fix in the words of an owner."""
    if isinstance(fix, Advice):
        return advice_text(fix, named)
    if isinstance(fix, OwnerAdvice):
        return advice_text(wording.topics.get(fix.topic) or TOPICS[fix.topic], named)
    if isinstance(fix, NothingToEdit):
        return _GONE
    if isinstance(fix, RemoveBehind):
        return _removal(fix)
    if isinstance(fix, AlreadyStaged):
        what = f"{fix.field} {fix.value[:_SHOWN]}" if fix.value else f"no {fix.field}"
        return _STAGED.format(what=what)
    return wording.words(fix, named)


def _removal(fix: RemoveBehind) -> str:
    """The removal, worded for libvirt's user."""
    if not fix.settings:
        return _FIRST_GLOBAL if fix.before_virtio else _CORRECT
    if fix.before_virtio:
        return _FIRST.format(", ".join(one.field for one in fix.settings))
    removal = _REMOVE_OR if fix.instead else _REMOVE
    return " ".join(removal.format(one.field, one.by, fix.instead) for one in fix.settings)


def options(properties: Mapping[str, str | None], option: str = "--property") -> str:
    """Options as accepted by ``openstack image set`` and ``nova-manage image_property set``."""
    return " ".join(f"{option} {word(f'{name}={value}')}" for name, value in properties.items())


def advice_text(advice: Advice, named: FixNames) -> str:
    """The text of an advice with its commands filled in."""
    parts = advice.parts
    return "".join(part if isinstance(part, str) else command_text(part, named) for part in parts)


def command_text(command: Command, named: FixNames) -> str:
    """A command for copying; in words if its image is unknown."""
    if isinstance(command, OpenStack):
        identity = f" {named.uuid}" if command.of == "server" else ""
        return f"{client(named.target)} {command.command}{identity}"
    pair = word(f"{command.name}={command.value}")
    if command.of == "server":
        return f"nova-manage image_property set {named.uuid} --property {pair}"
    if command.of == "image" and not named.knows_image:
        return f"Set {pair} on the image"
    return f"{client(named.target)} image set --property {pair} {named.image}"


def text_of(
    fixes: tuple[Fix, ...], change: Change | None, wording: Wording, named: FixNames
) -> str:
    """Fixes as sentences, followed by the reason if the change is unsafe."""
    sentences = [sentence(fix, wording, named) for fix in fixes]
    edits = fixes != (wording.in_arguments,)
    if edits and change is not None and not change.safe and change.reason:
        tell = unsafe_because if " ".join(sentences).endswith(".") else _unsafe_beside
        sentences.append(tell(change.reason))
    return " ".join(filter(None, sentences))


def fixes_of(
    change: Change | None, advice: str | Fix, wording: Wording, *, rewrites: bool
) -> Iterator[Fix]:
    """The fixes of a problem, worded later. ``rewrites``: the owner rewrites its definitions."""
    if change is not None:
        yield wording.edit(change)
    if isinstance(advice, RemoveBehind) and (wording.behind is not None or rewrites):
        # the owner rewrites what somebody set in its definition
        field = advice.settings[0].field if len(advice.settings) == 1 else ""
        unset = Change(field or "setting", None, None, safe=True)
        yield wording.edit(unset) if wording.behind is None else wording.behind(field)
        if advice.before_virtio:
            yield _THEN_VIRTIO
    elif not isinstance(advice, str):
        yield advice
    elif advice:
        yield Advice((advice,))
