"""A step on a server, an image or a flavor, and the unit that it changes."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from vnicaudit.model.domain import Server
from vnicaudit.model.guest_words import Readiness
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import MODES, CloudUnitT, ModeOption, ServerUnit, StepWords, UnitStep
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.planning.subject import PlanSubject, ProposedChanges

_AT_ONCE = "it affects new servers at once, whatever the mode"
ANY_MODE = tuple(
    ModeOption(mode, possible=True, reason=_AT_ONCE, code="new-servers") for mode in MODES
)
"""The modes of a step on an image or flavor: any."""

Changed = tuple[tuple[Nic, Nic], ...]
"""NICs before and after."""


def unit_step(
    subject: PlanSubject[CloudUnitT], proposed: ProposedChanges, unit: CloudUnitT,
    words: StepWords, *, readiness: Readiness, safe: bool, reason: str,
    modes: tuple[ModeOption, ...] = ANY_MODE, running: bool = False,
) -> UnitStep[CloudUnitT]:  # fmt: skip
    """The step with its digest and diff; ``reason``: why it is ``safe``, or unsafe."""
    about = subject.about
    return UnitStep(
        id="",
        target=subject.target,
        about=about,
        owner="nova",
        to="virtio",
        rules=proposed.rules,
        changes=proposed.changes,
        readiness=readiness,
        safe=safe,
        reason=reason,
        running=running,
        modes=modes,
        digest=kept_digest(unit.kind, about.id, unit.old),
        diff=diff(about.name or about.id or "", unit.old, unit.properties),
        blocked=words.blocked,
        procedure=words.procedure,
        notes=words.notes,
        unit=unit,
    )


def changed_nics(before: Server, after: Server) -> Changed:
    """The NICs that a change affects."""
    pairs = zip(before.nics, after.nics, strict=True)
    return tuple(pair for pair in pairs if pair[0].declared != pair[1].declared)


def changed_server(server: Server, changed: Changed, properties: Mapping[str, str]) -> ServerUnit:
    """The unit of a server with the properties to be set; a value None in ``old`` was not stored by
    Nova."""
    config = server.config
    return replace(
        server_unit(server),
        properties=dict(properties),
        old={name: config.property(name) or None for name in properties},
        macs=tuple(nic.mac for nic, _after in changed if nic.mac is not None),
    )


def server_unit(server: Server) -> ServerUnit:
    """The unit of a server: its project, place, image and flavor, with no properties to be set."""
    ref, image, flavor = server.cloud, server.config.image, server.config.flavor
    return ServerUnit(
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
