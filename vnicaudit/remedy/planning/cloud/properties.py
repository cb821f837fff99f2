"""A server as it would be with other properties, and the reasons why it might not start then.

Source: Nova 34.0.0, ``virt/hardware.py`` (``get_vif_multiqueue_constraint``,
``get_packed_virtqueue_constraint``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from vnicaudit.model.domain import Server
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import as_flag
from vnicaudit.model.server import (
    FLAVOR_WORDS,
    MODEL,
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    ServerConfig,
)

_CLASH = (
    "its flavor has {spec}={said}: with {name}={value}, Nova refuses to start it "
    "(FlavorImageConflict). Resize it to a flavor without that extra spec first"
)
_NOT_VIRTIO = f"{PACKED}=true on a NIC that is not virtio: libvirt refuses to start the server"

_NO_MODEL = frozenset({"hostdev", "vdpa"})
"""Types of NICs for which Nova writes none of these properties."""

Values = Mapping[str, "str | None"]


def has_value(server: ServerConfig, name: str, value: str) -> bool:
    """True if Nova stores that value already, in whatever spelling."""
    if name == MODEL:
        return server.vif_model == value
    return server.flag(name) == as_flag(value)


def with_properties(server: Server, properties: Mapping[str, str]) -> Server:
    """The server as it would be with these properties."""
    if not properties:
        return server
    values = tuple(sorted({**dict(server.config.stored_properties), **properties}.items()))
    config = msgspec.structs.replace(server.config, stored_properties=values)
    declared = server.declared.with_server(config)
    nics = tuple(_with_properties(nic, properties, server.declared.vcpus) for nic in server.nics)
    return msgspec.structs.replace(server, declared=declared, nics=nics)


def _with_properties(nic: Nic, properties: Mapping[str, str], vcpus: int | None) -> Nic:
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


def does_not_start(after: Server) -> Iterator[str]:
    """Why Nova or libvirt would refuse to start the server with its new properties: a server that
    was stopped for a change and does not start again is worse than any NIC."""
    for name, said in clashes(after):
        spec, value = FLAVOR_WORDS[name], after.config.property(name)
        yield _CLASH.format(spec=spec, said=said, name=name, value=value)
    models = {nic.declared.model for nic in after.nics} - {None, "virtio"}
    if models and after.config.asks_for(PACKED):
        yield _NOT_VIRTIO


def clashes(server: Server) -> Iterator[tuple[str, str]]:
    """Flags for which the flavor contradicts the stored property, with the flavor's value."""
    for name in FLAVOR_WORDS:
        if server.config.clash(name, server.declared.vcpus):
            yield name, str(server.config.flavor_flag(name)).lower()


def diff(title: str, old: Values, new: Values) -> str:
    """Changed properties, one line for each old and new value; empty if there are none. ``title``:
    the object's name, or else its id."""
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
    """The text on one line, so that no part of a value can look like another line."""
    return text if text.isprintable() else ascii(text)[1:-1]
