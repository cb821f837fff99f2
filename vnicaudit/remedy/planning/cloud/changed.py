"""What a step on a server is about: its NICs before and after, and its properties."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import CloudPart
from vnicaudit.remedy.planning.cloud.gates import config_of, ref_of

Changed = tuple[tuple[Nic, Nic], ...]
"""NICs before and after."""


def changed_nics(before: Domain, after: Domain) -> Changed:
    """The NICs that a change is about."""
    pairs = zip(before.nics, after.nics, strict=True)
    return tuple(pair for pair in pairs if pair[0].declared != pair[1].declared)


def server_part(server: Domain, changed: Changed, properties: Mapping[str, str]) -> CloudPart:
    """The step's part for a cloud; what a property was is None where Nova kept none."""
    config = config_of(server)
    return replace(
        part_of(server),
        properties=dict(properties),
        old={name: config.property(name) or None for name in properties},
        macs=tuple(nic.mac for nic, _after in changed if nic.mac is not None),
    )


def part_of(server: Domain) -> CloudPart:
    """Whose it is, where, and what it was made of; nothing that is changed."""
    ref, kept = ref_of(server), server.declared.server
    image, flavor = (None, None) if kept is None else (kept.image, kept.flavor)
    return CloudPart(
        object="server",
        properties={},
        old={},
        project=ref.project,
        host=ref.host,
        zone=ref.zone,
        groups=ref.groups,
        image=ref.image or ("" if image is None else image.id or ""),
        image_name="" if image is None else image.name,
        flavor="" if flavor is None else flavor.name,
    )
