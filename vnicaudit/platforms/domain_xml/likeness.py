"""Compare two definitions regardless of the order of their controllers.

libvirt orders ``<controller>`` elements when it reads a definition, and appends those that it adds
itself. So the definition of a domain that was just defined may change its order as soon as the same
text is defined again, or libvirtd is restarted. Measured with 9.0: q35 with controllers 0 to 3 of
its own, to which libvirt adds root ports behind usb and sata; QEMU's arguments are then the same,
byte by byte, because each controller carries its index and address.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from lxml import etree

from vnicaudit.base.wording import count
from vnicaudit.platforms.domain_xml.definitions import piece_label, root_of


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
    return _unlike(_parts(wanted), _parts(got))


def _unlike(old: _Parts, new: _Parts) -> tuple[str, ...]:
    pieces = Counter(old.controllers + old.rest), Counter(new.controllers + new.rest)
    gone = [f"{piece_label(piece)} is missing or different" for piece in (pieces[0] - pieces[1])]
    more = [
        f"{piece_label(piece)} is new or different"
        for piece in (pieces[1] - pieces[0])
        if not _is_pci_controller(piece)
    ]
    if not (gone or more) and old.rest != new.rest:
        return ("its elements are in a different order",)
    return tuple(dict.fromkeys(gone + more))


def rearranged(wanted: bytes, got: bytes) -> str:
    """A clause on PCI controllers that libvirt added, and on a changed order of controllers, as the
    end of a sentence that begins with "libvirt"; empty if there is neither. Added or removed
    controllers of other kinds are reported by :func:`unlike`."""
    return _rearranged(_parts(wanted), _parts(got))


def _rearranged(old: _Parts, new: _Parts) -> str:
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
    old, new = _parts(text), _parts(again)
    if words := _rearranged(old, new):
        words = (
            f"libvirt {words} as soon as this definition is defined again: a rollback brings every "
            "device back as it was, at its address, in that order"
        )
    otherwise = [one for one in _unlike(old, new) if not one.startswith("<cpu>")]
    if otherwise:
        what = "; ".join(otherwise[:5])
        return (
            "libvirt changes this definition when it is defined again, so there is no exact way "
            f"back: {what}"
        )
    return words


def _is_pci_controller(piece: str) -> bool:
    return piece.startswith("devices <controller ") and 'type="pci"' in piece[: piece.find(">")]


def _parts(data: bytes) -> _Parts:
    root = root_of(data)
    controllers: list[str] = []
    rest: list[str] = []
    for child in root.iterchildren():
        if child.tag != "devices":
            rest.append(_text(child))
            continue
        for device in child.iterchildren():
            text = f"devices {_text(device)}"
            (controllers if device.tag == "controller" else rest).append(text)
    rest.append(repr(sorted((str(name), root.get(name)) for name in root.attrib if name != "id")))
    return _Parts(tuple(controllers), tuple(rest))


def _text(element: etree._Element) -> str:
    """The element's text, including all whitespace."""
    tail, element.tail = element.tail, None
    try:
        return str(etree.tostring(element, method="c14n", with_comments=True).decode())
    finally:
        element.tail = tail
