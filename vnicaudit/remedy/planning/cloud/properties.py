"""Changes in model terms -> properties of images, which Nova keeps for each server.

Sources: Nova 34.0.0, ``objects/image_meta.py`` (names), ``virt/hardware.py``
(``get_vif_multiqueue_constraint``, ``get_packed_virtqueue_constraint``) and ``cmd/manage.py``
(``image_property set`` can set a property and not remove one: off is ``false``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.server import (
    FLAVOR_WORDS,
    MODEL,
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    PROPERTY_OF,
    ServerConfig,
)
from vnicaudit.text.shell import word

_CLASH = (
    "its flavor says {spec}={said}: with {name}={value} Nova refuses to start it "
    "(FlavorImageConflict). Resize it to a flavor without that extra spec first"
)
_NOT_VIRTIO = f"{PACKED}=true on a NIC that is not virtio: libvirt refuses to start the server"

_NO_MODEL = frozenset({"hostdev", "vdpa"})
"""Types of NICs for which Nova writes none of this."""

Values = Mapping[str, "str | None"]


def property_of(change: Change) -> tuple[str, str] | None:
    """``(property, value)`` that a change comes to; None where no property does: a ring size, a
    model other than virtio, fewer queues."""
    if change.new is None:
        return None
    name = PROPERTY_OF.get(change.field, change.field)
    if name == MODEL:
        return (name, change.new) if change.new == "virtio" else None
    if change.field == "queues":
        return (name, "true") if int(change.new) > int(change.old or 1) else None
    return (name, str(as_flag(change.new)).lower()) if name in FLAVOR_WORDS else None


def is_so(server: ServerConfig, name: str, value: str) -> bool:
    """Whether Nova keeps that value already, in whatever spelling."""
    if name == MODEL:
        return server.vif_model == value
    return server.flag(name) == as_flag(value)


def with_properties(domain: Domain, properties: Mapping[str, str]) -> Domain:
    """The server as it would be with these properties."""
    server = domain.declared.server
    if server is None or not properties:
        return domain
    values = {**dict(server.kept), **properties}
    server = msgspec.structs.replace(server, kept=tuple(sorted(values.items())))
    declared = msgspec.structs.replace(domain.declared, server=server)
    nics = tuple(_with(nic, properties, domain.declared.vcpus) for nic in domain.nics)
    return msgspec.structs.replace(domain, declared=declared, nics=nics)


def _with(nic: Nic, properties: Mapping[str, str], vcpus: int | None) -> Nic:
    now = nic.declared
    if {now.type, now.actual_type} & _NO_MODEL:
        return nic
    model, queues, packed = properties.get(MODEL, now.model), now.queues, now.packed
    if MULTIQUEUE in properties and model == "virtio":
        enough = (vcpus or 0) >= MULTIQUEUE_VCPUS
        queues = vcpus if as_flag(properties[MULTIQUEUE]) and enough else None
    if PACKED in properties:
        packed = "on" if as_flag(properties[PACKED]) else None
    declared = msgspec.structs.replace(now, model=model, queues=queues, packed=packed)
    return msgspec.structs.replace(nic, declared=declared)


def does_not_start(after: Domain) -> Iterator[str]:
    """Why Nova or libvirt would refuse to start the server as it would be: one that was stopped
    for a change and does not start again is worse than any NIC."""
    server = after.declared.server
    if server is None:
        return
    for name, said in clashes(after):
        spec, value = FLAVOR_WORDS[name], server.property(name)
        yield _CLASH.format(spec=spec, said=said, name=name, value=value)
    models = {nic.declared.model for nic in after.nics} - {None, "virtio"}
    if models and server.asks_for(PACKED):
        yield _NOT_VIRTIO


def clashes(domain: Domain) -> Iterator[tuple[str, str]]:
    """Flags of which the flavor says the opposite of what Nova keeps, and what the flavor says."""
    server = domain.declared.server
    if server is None:
        return
    for name in FLAVOR_WORDS:
        if server.clash(name, domain.declared.vcpus):
            yield name, str(server.flavor_flag(name)).lower()


def options(properties: Values) -> str:
    """As ``openstack image set`` and ``nova-manage image_property set`` take them."""
    return " ".join(f"--property {word(f'{name}={value}')}" for name, value in properties.items())


def diff(title: str, old: Values, new: Values) -> str:
    """What changes, a line for each property and side; empty where nothing does. ``title``: what
    it is called, or else its id."""
    lines = []
    for name in sorted(new):
        if old.get(name) == new[name]:
            continue
        for sign, value in (("-", old.get(name)), ("+", new[name])):
            if value is not None:
                lines.append(f"{sign}{_one_line(name)}={_one_line(value)}")
    head = (f"--- {_one_line(title)}", f"+++ {_one_line(title)}", "@@ properties @@")
    return "".join(f"{line}\n" for line in (*head, *lines)) if lines else ""


def _one_line(text: str) -> str:
    """Nothing in a value can look like another line."""
    return text if text.isprintable() else ascii(text)[1:-1]
