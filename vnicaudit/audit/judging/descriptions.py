"""Rules x descriptions: judge a configuration file, an image, a flavor or a preference.

How each kind is judged: as which scope, under which name, for which owner. Apart from the auditor
of domains, which resolves NICs: a lint of one nova.conf loads nothing of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import Catalogue, RuleSet
from vnicaudit.audit.judging.fingerprint import file_key, is_uuid
from vnicaudit.audit.judging.judgement import FindingCollector, Judgement, ask
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.knowledge.fixes.wording import of_image
from vnicaudit.model.description import Description
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.location import Location
from vnicaudit.model.names import NO_NAMES
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.owner import Owner
from vnicaudit.model.refs import ConfigRef, FlavorRef, ImageRef, PreferenceRef, Ref
from vnicaudit.model.report import Audited, AuditedScope
from vnicaudit.model.rule import ConfigJudge, FlavorJudge, ImageJudge, PreferenceJudge
from vnicaudit.model.subject import (
    ConfigSubject,
    FlavorSubject,
    ImageSubject,
    PreferenceSubject,
)


class DescriptionAuditor:
    """Judges descriptions by a fixed set of rules."""

    def __init__(
        self, rule_ids: Iterable[str], wordings: Wordings, catalogue: Catalogue | None = None
    ) -> None:
        rules = tuple(rule_ids)
        self._wordings = wordings
        self._configs = RuleSet(ConfigJudge, rules, catalogue)
        self._images = RuleSet(ImageJudge, rules, catalogue)
        self._flavors = RuleSet(FlavorJudge, rules, catalogue)
        self._preferences = RuleSet(PreferenceJudge, rules, catalogue)

    def audit(self, item: Description, target: str) -> Audited:
        """Judge one description."""
        collector = FindingCollector(self._wordings)
        owner, ref = owner_of(item), ref_of(item)
        named = of_image(target, item) if isinstance(item, Image) else NO_NAMES
        places = partial(place_of, item)
        collector.take(self._verdicts(item), owner, lambda _field: key_of(item), places, ref, named)
        audited = collector.audited(target, name_of(item), owner, scope_of(item))
        return replace(audited, file=place_of(item, None).file, uuid=ref.id, named=named)

    def _verdicts(self, item: Description) -> tuple[Judgement, ...]:
        if isinstance(item, NovaConfig):
            return ask(self._configs.of(), ConfigSubject(item))
        if isinstance(item, Preference):
            return ask(self._preferences.of(), PreferenceSubject(item))
        if isinstance(item, Image):
            return ask(self._images.of(), ImageSubject(item))
        return ask(self._flavors.of(), FlavorSubject(item))


def scope_of(item: Description) -> AuditedScope:
    """The kind that a description has in a report."""
    if isinstance(item, NovaConfig):
        return "config"
    if isinstance(item, Preference):
        return "preference"
    return "image" if isinstance(item, Image) else "flavor"


def owner_of(item: Description) -> Owner:
    """Who keeps what it describes."""
    return "kubevirt" if isinstance(item, Preference) else "nova"


def name_of(item: Description) -> str:
    """The name of a description; of a configuration its file."""
    return item.file if isinstance(item, NovaConfig) else item.name


def ref_of(item: Description) -> Ref:
    """Which image, flavor or preference it is; a configuration is called by its file, which is its
    place."""
    if isinstance(item, NovaConfig):
        return ConfigRef()
    if isinstance(item, Preference):
        return PreferenceRef(item.name or None)
    made = ImageRef if isinstance(item, Image) else FlavorRef
    return made(item.name or None, item.id)


def place_of(item: Description, field: str | None) -> Location:
    """Where a field stands; the description itself where it does not."""
    if isinstance(item, NovaConfig | Preference):
        return item.place(field)
    found = item.property(field or "")
    return item.location if found is None else found.location


def key_of(item: Description) -> str:
    """The key that tells a description apart across audits: its file and its name, never a line; an
    image or flavor of a cloud by its id, whatever the cloud is called. Whoever makes a flavor may
    give it an id (``1``, ``m1``), which its name narrows down; one that Nova makes is a UUID."""
    if isinstance(item, NovaConfig):
        return file_key(item.file)
    if isinstance(item, Image | Flavor) and item.id is not None:
        made = isinstance(item, Image) or is_uuid(item.id)
        return item.id if made else f"{item.id}#{item.name}"
    file = item.location.file
    owner = item.target if file is None else file_key(file)
    return f"{owner}#{item.location.xpath or ''}#{item.name}"
