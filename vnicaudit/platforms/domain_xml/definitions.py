"""Definitions that libvirt returned: read for changing them, and compared with the result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from lxml import etree

from vnicaudit.base.wording import count
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, PendingChanges, StagedNic
from vnicaudit.model.finding import DefinitionForm, Location, rewritten_by
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.platforms.domain_xml.documents import document_spans, documents
from vnicaudit.platforms.domain_xml.facts import kib_of, pcie_ports
from vnicaudit.platforms.domain_xml.read import domain_of
from vnicaudit.platforms.domain_xml.recognise import is_foreign
from vnicaudit.platforms.domain_xml.refusals import number

_SHOWN = 60
_ORDINAL = re.compile(r"/\w+\[(\d{1,9})\](?=/|\Z)")
_SLOT = ("domain", "bus", "slot")
_TAG = re.compile(r"<([^\s<>/!?]+)")


def definition_of(data: bytes, target: str) -> Domain:
    """The domain of a definition, which may be that of a running guest. Its NICs have places
    (``/domain/devices/interface[1]``) by which
    :func:`vnicaudit.platforms.domain_xml.write.edits_for` finds them. Raises TargetError if it is
    no ``<domain>``."""
    root = _root(data, target)
    form: DefinitionForm = "live" if root.get("id") else "dump"
    return domain_of(root, Location(target, xpath="/domain"), 0, form=form)


def ports_of(data: bytes) -> tuple[int, ...] | None:
    """Indexes of the PCI Express port controllers; None if the definition contains no PCI
    controller."""
    devices = _root(data, "").find("devices")
    return None if devices is None else pcie_ports(devices)


def document_at(data: bytes, xpath: str) -> tuple[int, int] | None:
    """Beginning and end of the document with the domain at that path (``/domain[3]``) among the
    documents of a file; None if it is the only one, or not found by its bytes."""
    found = _ORDINAL.match(xpath)
    if found is None or is_foreign(data):
        return None
    all_of_them, number = document_spans(data), int(found[1])
    if not 0 < number <= len(all_of_them):
        return None
    return all_of_them[number - 1][:2]


def power_off_action(data: bytes) -> str:
    """The action libvirt takes when the guest powers itself off (``<on_poweroff>``); ``destroy`` by
    default (virDomainDefParseLifecycle in libvirt's domain_conf.c)."""
    return (_root(data, "").findtext("on_poweroff") or "destroy").strip()


def children_of(data: bytes, nic: int) -> dict[str, str]:
    """The children of the ``<interface>`` of that number (from 1): tag -> its text, in short."""
    interface = _interfaces_of(_root(data, ""))[nic - 1]
    return {str(child.tag): _short(_canonical(child)) for child in interface.iterchildren("*")}


def shares_slot(data: bytes, nic: int) -> bool:
    """True if another device is in the PCI slot of the ``<interface>`` of that number (from 1), at
    another function."""
    root = _root(data, "")
    mine = _interfaces_of(root)[nic - 1].find("address[@type='pci']")
    if mine is None:
        return False
    there = Counter(map(_slot, root.iterfind("devices/*/address[@type='pci']")))
    return there[_slot(mine)] > 1


def _slot(address: etree._Element) -> tuple[int | None, ...]:
    return tuple(number(address.get(name) or "0") for name in _SLOT)


def _short(text: str) -> str:
    """The beginning of a text on one line, cut between two words."""
    text = " ".join(text.split())
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN].rsplit(' ', 1)[0]} …"


def uses_iommu(data: bytes) -> bool:
    """True if a virtio device of the domain uses an IOMMU (``iommu='on'`` in a ``<driver>``), as
    guests with encrypted memory need it."""
    return any(
        driver.get("iommu") == "on" for driver in _root(data, "").iterfind("devices/*/driver")
    )


def memory_kib(data: bytes) -> int | None:
    """The guest's maximum memory, in KiB; None if it is not given."""
    root = _root(data, "")
    found = root.find("maxMemory")
    return kib_of(root.find("memory") if found is None else found)


def other_changes(before: bytes, after: bytes, macs: Collection[str]) -> tuple[str, ...]:
    """Differences outside the ``<interface>`` elements with these MAC addresses, one clause each.

    An additional PCI controller does not count: libvirt adds one if a device gets another address
    (qemuDomainAssignPCIAddresses in qemu_domain_address.c).
    """
    if before == after:
        return ()
    return _differences(_pieces(before, macs), _pieces(after, macs))


def _pieces(data: bytes, macs: Collection[str]) -> Counter[str]:
    """The parts of a definition without these NICs; blanks between words do not count."""
    parts = _parts(data, macs)
    return Counter(" ".join(piece.split()) for piece in parts.controllers + parts.rest)


def missing_parts(wanted: bytes, got: bytes, mac: str) -> tuple[str, ...]:
    """Parts of the wanted ``<interface>`` with that MAC address that are missing from libvirt's
    definition of it, such as ``driver/@queues='4'``; a single clause if either definition has no
    such NIC, or several. Parts that libvirt added do not count."""
    old = _with_mac(_root(wanted, ""), mac)
    new = old if wanted == got else _with_mac(_root(got, ""), mac)
    if old is None or new is None:
        return (f"there is not exactly one NIC {mac}",)
    return () if new is old else tuple(_missing(old, new, ""))


def _missing(old: etree._Element, new: etree._Element, path: str) -> Iterator[str]:
    for name, value in old.attrib.items():
        if new.get(str(name)) != str(value):
            yield f"{path}@{name}={str(value)[:_SHOWN]!r}"
    text, other = (old.text or "").strip(), (new.text or "").strip()
    if text and text != other:
        yield f"{path}text() = {text[:_SHOWN]!r}"
    for tag, ordinal, child in _children(old):
        same = [found for name, place, found in _children(new) if (name, place) == (tag, ordinal)]
        if same:
            yield from _missing(child, same[0], f"{path}{tag}/")
        else:
            yield f"<{path}{tag}>"


def _children(element: etree._Element) -> Iterator[tuple[str, int, etree._Element]]:
    """Each child: its tag, its number among children of that tag, and the child itself."""
    seen: Counter[str] = Counter()
    for child in element.iterchildren("*"):
        tag = str(child.tag)
        yield tag, seen[tag], child
        seen[tag] += 1


def _piece_label(piece: str) -> str:
    """A label for a piece of a definition: only its tag, as its content may be a password."""
    found = _TAG.match(piece.removeprefix("devices "))
    return f"<{found[1]}>" if found is not None else "an attribute of <domain>, or a comment,"


def _with_mac(root: etree._Element, mac: str) -> etree._Element | None:
    """The only NIC with that MAC address; not looked up by number, because numbers shift if
    somebody removes a NIC."""
    found = [
        interface for interface in _interfaces_of(root)
        for element in interface.findall("mac")[:1]
        if element.get("address", "").strip().lower() == mac.strip().lower()
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _interfaces_of(root: etree._Element) -> list[etree._Element]:
    return list(root.iterfind("devices/interface"))


def _root(data: bytes, target: str) -> etree._Element:
    root = next(documents(data, target)).root
    tag = str(root.tag)
    if tag != "domain":
        raise TargetError(f"<{tag}> is not a domain definition", file=target or None)
    return root


# Compare two definitions regardless of the order of their controllers.
#
# libvirt orders ``<controller>`` elements when it reads a definition, and appends those that it
# adds itself. So the definition of a domain that was just defined may change its order as soon as
# the same text is defined again, or libvirtd is restarted. Measured with 9.0: q35 with controllers
# 0 to 3 of its own, to which libvirt adds root ports behind usb and sata; QEMU's arguments are then
# the same, byte by byte, because each controller carries its index and address.


class _Parts(NamedTuple):
    """A definition in canonical form: ``controllers`` in any order; ``rest`` is everything else, in
    order."""

    controllers: tuple[str, ...]
    rest: tuple[str, ...]


def equal_but_controllers(one: bytes, other: bytes) -> bool:
    """True if two definitions differ at most in the order of their controllers."""
    if one == other:
        return True
    first, second = _parts(one), _parts(other)
    return first.rest == second.rest and Counter(first.controllers) == Counter(second.controllers)


def unlike(wanted: bytes, got: bytes) -> tuple[str, ...]:
    """Differences of ``got`` from ``wanted``, one clause each. The order of controllers does not
    count, nor does an additional PCI controller, which libvirt adds when needed."""
    if wanted == got:
        return ()
    old, new = _parts(wanted), _parts(got)
    found = _differences(Counter(old.controllers + old.rest), Counter(new.controllers + new.rest))
    if not found and old.rest != new.rest:
        return ("its elements are in a different order",)
    return found


def _differences(old: Counter[str], new: Counter[str]) -> tuple[str, ...]:
    """One clause for each kind of piece that is missing or new; an additional PCI controller does
    not count."""
    gone = [f"{_piece_label(piece)} is missing or different" for piece in old - new]
    more = [
        f"{_piece_label(piece)} is new or different"
        for piece in new - old
        if not _is_pci_controller(piece)
    ]
    return tuple(dict.fromkeys(gone + more))


def rearranged(wanted: bytes, got: bytes) -> str:
    """A clause on PCI controllers that libvirt added, and on a changed order of controllers, as the
    end of a sentence that begins with "libvirt"; empty if there is neither. Added or removed
    controllers of other kinds are reported by :func:`unlike`."""
    old, new = _parts(wanted), _parts(got)
    words = []
    more = Counter(new.controllers) - Counter(old.controllers)
    if added := sum(map(_is_pci_controller, more.elements())):
        words.append(f"added {count(added, 'PCI controller')}")
    kept = [one for one in new.controllers if one in old.controllers]
    if kept != [one for one in old.controllers if one in new.controllers]:
        words.append("lists the controllers in a different order")
    return " and ".join(words)


def on_way_back(text: bytes, again: bytes) -> str:
    """A sentence on how libvirt would change a definition that is defined again; empty if it would
    keep it. ``again``: the definition as libvirt would write it, with its CPU converted to the
    host's terms."""
    if text == again:
        return ""
    if words := rearranged(text, again):
        words = (
            f"libvirt {words} as soon as this definition is defined again: a rollback brings every "
            "device back as it was, at its address, in that order"
        )
    otherwise = [one for one in unlike(text, again) if not one.startswith("<cpu>")]
    if otherwise:
        what = "; ".join(otherwise[:5])
        return (
            "libvirt changes this definition when it is defined again, so there is no exact way "
            f"back: {what}"
        )
    return words


def _is_pci_controller(piece: str) -> bool:
    return piece.startswith("devices <controller ") and 'type="pci"' in piece[: piece.find(">")]


def _parts(data: bytes, macs: Collection[str] = ()) -> _Parts:
    """The parts of a definition, without the NICs of these MAC addresses."""
    root = _root(data, "")
    left_out = [_with_mac(root, mac) for mac in macs]
    controllers: list[str] = []
    rest: list[str] = []
    for child in root.iterchildren():
        if child.tag != "devices":
            rest.append(_canonical(child))
            continue
        for device in child.iterchildren():
            if device in left_out:
                continue
            text = f"devices {_canonical(device)}"
            (controllers if device.tag == "controller" else rest).append(text)
    rest.append(repr(sorted((str(name), root.get(name)) for name in root.attrib if name != "id")))
    return _Parts(tuple(controllers), tuple(rest))


def _canonical(element: etree._Element) -> str:
    """The element's text, including all whitespace."""
    tail, element.tail = element.tail, None
    try:
        return str(etree.tostring(element, method="c14n", with_comments=True).decode())
    finally:
        element.tail = tail


# Compare the running definition with the persistent one: which changes wait for a power cycle.
#
# NICs are matched by MAC; a MAC that occurs twice is no match. A NIC that was removed from the
# persistent definition and one that was plugged in live look the same: only the running definition
# has it. libvirt separates the two definitions on purpose (VIR_DOMAIN_AFFECT_LIVE and
# VIR_DOMAIN_AFFECT_CONFIG, virDomainAttachDeviceFlags).
#
# The comparison covers settings that libvirt never changes by itself while a guest runs. It leaves
# out addresses and aliases (assigned at start), target devices, link state and bandwidth (changed
# live without power cycle), and values that a network or its portgroup provides when the guest
# starts.


_FIELDS = (
    "model", "driver_name", "queues", "rx_queue_size", "tx_queue_size", "mtu", "txmode",
    "ioeventfd", "event_idx", "rss", "rss_hash_report", "iommu", "ats", "packed", "page_per_vq",
    "host_off", "guest_off", "backend_type", "backend_vhost",
)  # fmt: skip
_UNSET = ""


def pending(running: Domain, persistent: Domain) -> PendingChanges:
    """The changes of a running guest that wait for its next start."""
    return PendingChanges(staged(running, persistent), coming(running, persistent))


def staged(running: Domain, persistent: Domain) -> tuple[StagedNic, ...]:
    """The running NICs whose persistent definition differs, in order; then those that it lacks."""
    later = _by_mac(persistent)
    found = []
    for mac, nic in _by_mac(running).items():
        other = later.get(mac)
        fields = _changed_fields(nic.declared, other.declared) if other is not None else ()
        if other is not None and fields:
            found.append(StagedNic(mac, fields, other.declared))
    found += [StagedNic(mac, gone=True) for mac in _only(running, persistent)]
    return tuple(found)


def coming(running: Domain, persistent: Domain) -> tuple[str, ...]:
    """MACs of the NICs that only the persistent definition has, in order."""
    return tuple(_only(persistent, running))


def _only(one: Domain, other: Domain) -> list[str]:
    """MACs of NICs that ``one`` has and ``other`` lacks. Empty if that is uncertain (an interface
    without MAC might be any of them) or says nothing about the next start: oVirt, for one, plugs in
    NICs only live (vdsm, ``Vm.hotplugNic``)."""
    # libvirt assigns a MAC to each interface, but not to a <hostdev>
    uncertain = any(nic.mac is None and nic.declared.origin == "interface" for nic in other.nics)
    if uncertain or rewritten_by(one.declared.owner):
        return []
    there = {nic.mac for nic in other.nics}
    return [mac for mac in _by_mac(one) if mac not in there]


def _by_mac(domain: Domain) -> dict[str, Nic]:
    counts = Counter(nic.mac for nic in domain.nics)
    return {nic.mac: nic for nic in domain.nics if nic.mac is not None and counts[nic.mac] == 1}


def _changed_fields(now: NicConfig, later: NicConfig) -> tuple[tuple[str, str, str], ...]:
    if now == later:
        return ()
    # a running NIC on a network shows the actual type instead (bridge, direct, hostdev)
    comparable = "network" not in (now.type, later.type)
    pairs = [("type", now.type, later.type)] if comparable else []
    pairs += [(name, _text(now, name), _text(later, name)) for name in _FIELDS]
    return tuple(
        (name, old, new)
        for name, old, new in pairs
        if old != new and (name, new) != ("mtu", _UNSET)  # it may come from the bridge
    )


def _text(config: NicConfig, name: str) -> str:
    value = getattr(config, name)
    if value is None:
        return _UNSET
    return " ".join(value) if isinstance(value, tuple) else str(value)
