"""Rules x descriptions: judge a configuration file, an image, a flavor or a preference."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, RuleSet
from vnicaudit.audit.judging.judgement import FindingCollector, ask, file_key
from vnicaudit.base.wording import ANY_UUID
from vnicaudit.knowledge.fixes.owners import Wordings, of_image
from vnicaudit.model.finding import Description, Scope
from vnicaudit.model.names import NO_NAMES
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import Audited


class DescriptionAuditor:
    """Judges descriptions by a fixed set of rules."""

    def __init__(
        self, rule_ids: Iterable[str], wordings: Wordings, catalogue: Catalogue | None = None
    ) -> None:
        self._rule_ids = tuple(rule_ids)
        self._wordings = wordings
        self._catalogue = catalogue
        self._rules: dict[Scope, RuleSet[Description]] = {}

    def audit(self, item: Description, target: str) -> Audited:
        """Judge one description."""
        scope, owner, ref, place = item.scope, item.described_for, item.ref, item.place(None)
        rules = self._rules.get(scope)
        if rules is None:
            rules = self._rules[scope] = RuleSet(scope, self._rule_ids, self._catalogue)
        named = of_image(target, item) if isinstance(item, Image) else NO_NAMES
        collector, key = FindingCollector(self._wordings), _key(item)
        collector.take(ask(rules.of(), item), owner, lambda _field: key, item.place, ref, named)
        name = ref.name or "" if scope != "config" else place.file or ""
        audited = collector.audited(target, name, owner, scope)
        return msgspec.structs.replace(audited, file=place.file, uuid=ref.id, fix_names=named)


def _key(item: Description) -> str:
    """Identifies a description across audits. Never contains a line. The id of a flavor may be
    chosen by its creator (``1``, ``m1``) and is combined with the name, unless Nova made it: a UUID
    is unique across clouds."""
    ref, place = item.ref, item.place(None)
    if item.scope == "config":
        return file_key(place.file or "")
    if ref.id is not None:
        alone = item.scope == "image" or ANY_UUID.fullmatch(ref.id)
        return ref.id if alone else f"{ref.id}#{ref.name or ''}"
    owner = place.target if place.file is None else file_key(place.file)
    return f"{owner}#{place.xpath or ''}#{ref.name or ''}"
