"""Rules x descriptions: judge a configuration file, an image, a flavor or a preference.

How each kind is judged: as which scope, under which name, for which owner. Apart from the engine,
which resolves NICs: a lint of one nova.conf loads nothing of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from vnicaudit.audit.catalogue import RuleSet
from vnicaudit.audit.fingerprint import file_key, is_uuid
from vnicaudit.audit.fixes_nova import image_text
from vnicaudit.audit.judgement import Tray, ask
from vnicaudit.model.description import Description
from vnicaudit.model.finding import NicRef
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.location import Location
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import Audited, AuditedScope
from vnicaudit.model.rule import (
    ConfigSubject,
    DescriptionSubject,
    FlavorSubject,
    ImageSubject,
    PreferenceSubject,
)


class DescriptionJudge:
    """Judges with a fixed set of rules."""

    def __init__(self, rule_ids: Iterable[str]) -> None:
        self._rules = RuleSet(rule_ids)

    def audit(self, item: Description, target: str) -> Audited:
        """Judge one description."""
        tray = Tray()
        scope, owner = scope_of(item), owner_of(item)
        verdicts = ask(self._rules.of(scope), subject_of(item))
        ref = ref_of(item)
        tray.take(verdicts, owner, lambda _field: key_of(item), partial(place_of, item), ref)
        if isinstance(item, Image) and item.id is not None:
            tray.reword(partial(image_text, image=item, target=target))
        audited = tray.audited(target, name_of(item), owner, scope)
        return replace(audited, file=place_of(item, None).file, uuid=ref.uuid)


def subject_of(item: Description) -> DescriptionSubject:
    """The description as rules see it."""
    if isinstance(item, NovaConfig):
        return ConfigSubject(item)
    if isinstance(item, Preference):
        return PreferenceSubject(item)
    return ImageSubject(item) if isinstance(item, Image) else FlavorSubject(item)


def scope_of(item: Description) -> AuditedScope:
    """The scope of the rules that judge it."""
    if isinstance(item, NovaConfig):
        return "config"
    if isinstance(item, Preference):
        return "preference"
    return "image" if isinstance(item, Image) else "flavor"


def owner_of(item: Description) -> str:
    """Who keeps what it describes."""
    return "kubevirt" if isinstance(item, Preference) else "nova"


def name_of(item: Description) -> str:
    """What it is called; a configuration by its file."""
    return item.file if isinstance(item, NovaConfig) else item.name


def ref_of(item: Description) -> NicRef:
    """What an image, flavor or preference is called; of a cloud also its id, which tells it from
    others of its name. A configuration is called by its file, which is its place."""
    if isinstance(item, NovaConfig):
        return NicRef()
    uuid = item.id if isinstance(item, Image | Flavor) else None
    return NicRef(domain=item.name or None, uuid=uuid)


def place_of(item: Description, field: str | None) -> Location:
    """Where a field stands; the description itself where it does not."""
    if isinstance(item, NovaConfig | Preference):
        return item.place(field)
    found = item.property(field or "")
    return item.location if found is None else found.location


def key_of(item: Description) -> str:
    """What tells it apart from others across audits: its file and its name, never a line; an image
    or flavor of a cloud by its id, whatever the cloud is called. Whoever makes a flavor may give it
    an id (``1``, ``m1``), which its name narrows down; one that Nova makes is a UUID."""
    if isinstance(item, NovaConfig):
        return file_key(item.file)
    if isinstance(item, Image | Flavor) and item.id is not None:
        made = isinstance(item, Image) or is_uuid(item.id)
        return item.id if made else f"{item.id}#{item.name}"
    file = item.location.file
    owner = item.target if file is None else file_key(file)
    return f"{owner}#{item.location.xpath or ''}#{item.name}"
