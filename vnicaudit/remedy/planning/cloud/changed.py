"""What a step on a server is about: its NICs before and after, and its properties."""

from __future__ import annotations

from collections.abc import Mapping

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
    config, ref = config_of(server), ref_of(server)
    return CloudPart(
        object="server",
        properties=dict(properties),
        old={name: config.property(name) or None for name in properties},
        project=ref.project,
        host=ref.host,
        zone=ref.zone,
        groups=ref.groups,
        macs=tuple(nic.mac for nic, _after in changed if nic.mac is not None),
    )
