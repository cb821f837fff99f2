"""The place where the change for a finding is made."""

from __future__ import annotations

from vnicaudit.model.finding import Finding
from vnicaudit.model.fix import Advice, SetOption, SetProperty
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.ranking import ChangePlace, PlaceKind
from vnicaudit.model.refs import ServerRef
from vnicaudit.model.report import Audited

_OF_SCOPE: dict[str, PlaceKind] = {
    "image": "image", "flavor": "flavor", "preference": "preference", "host": "host",
}  # fmt: skip


def place_of(finding: Finding, audited: Audited, host: InventoryHost) -> ChangePlace:
    """The file, if the definition is in one; an image, a flavor or a host's settings, if the change
    is made there; else the guest."""
    if file := finding.location.file or audited.file:
        return ChangePlace("file", file)
    if kind := _OF_SCOPE.get(audited.scope):
        name = host.name if kind == "host" else audited.subject
        return ChangePlace(kind, name, audited.uuid or "", host.name if kind == "host" else "")
    if any(isinstance(fix, SetOption) for fix in finding.fixes):
        return ChangePlace("host", host.name, host=host.name)
    placed = audited.placed
    if placed is not None and placed.image_id and _is_of_image(finding):
        return ChangePlace("image", placed.image, placed.image_id)
    kind = "server" if isinstance(finding.about, ServerRef) else "domain"
    return ChangePlace(kind, audited.subject, audited.uuid or "", host.name)


def _is_of_image(finding: Finding) -> bool:
    """True if everything to set is a property of the image."""
    properties = [
        part
        for fix in finding.fixes
        if isinstance(fix, Advice)
        for part in fix.parts
        if isinstance(part, SetProperty)
    ]
    return bool(properties) and all(one.of in ("image", "server-image") for one in properties)
