"""Rules x descriptions: judge a configuration file, an image, a flavor or a preference.

A row of :data:`JUDGED` defines how each kind is judged. It is separate from the auditor of domains,
which resolves NICs: a lint of one nova.conf loads nothing of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, Protocol, TypeVar

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, RuleSet
from vnicaudit.audit.judging.judgement import FindingCollector, Judgement, ask, file_key, is_uuid
from vnicaudit.knowledge.fixes.owners import Wordings, of_image
from vnicaudit.model.finding import (
    Description,
    Location,
    Owner,
    Ref,
)
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.names import NO_NAMES, FixNames
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import Audited, AuditedScope
from vnicaudit.model.rule import ConfigJudge, FlavorJudge, ImageJudge, Judge, PreferenceJudge
from vnicaudit.model.subject import (
    ConfigSubject,
    FlavorSubject,
    ImageSubject,
    PreferenceSubject,
)

D = TypeVar("D", bound=Description)
S = TypeVar("S")

AuditDescription = Callable[[Description, str, FindingCollector], Audited | None]
"""Judges a description of that target, and has the collector collect the findings; None if it is of
another kind."""


class DescriptionAuditor:
    """Judges descriptions by a fixed set of rules."""

    def __init__(
        self, rule_ids: Iterable[str], wordings: Wordings, catalogue: Catalogue | None = None
    ) -> None:
        self._rule_ids = tuple(rule_ids)
        self._wordings = wordings
        self._catalogue = catalogue
        self._auditors: dict[int, AuditDescription] = {}
        """Those of the kinds of :data:`JUDGED` that have been needed, by their number."""

    def audit(self, item: Description, target: str) -> Audited:
        """Judge one description."""
        collector = FindingCollector(self._wordings)
        for number, kind in enumerate(JUDGED):
            audit = self._auditors.get(number)
            if audit is None:
                audit = kind().auditor(self._rule_ids, self._catalogue)
                self._auditors[number] = audit
            if (found := audit(item, target, collector)) is not None:
                return found
        raise TypeError(item)


class JudgedKind(Protocol):
    """One kind of :data:`JUDGED`."""

    def auditor(self, rules: tuple[str, ...], catalogue: Catalogue | None) -> AuditDescription:
        """The function that judges descriptions of this kind by these rules."""


class DescriptionJudging(msgspec.Struct, Generic[D, S], frozen=True, kw_only=True):
    """How descriptions of one kind are judged: as which ``subject``, by which ``judge``.

    ``scope`` is the kind's name in a report, ``owner`` the owner of the described object. For one
    description: ``name`` and ``ref`` identify it, ``place`` is the place of one of its fields (its
    own, if the field is not set), ``fix_names`` the names that fixes can use. ``key`` identifies it
    across audits, and never contains a line.
    """

    kind: type[D]
    judge: type[Judge[S]]
    subject: Callable[[D], S]
    scope: AuditedScope
    owner: Owner
    name: Callable[[D], str]
    ref: Callable[[D], Ref]
    place: Callable[[D, str | None], Location]
    key: Callable[[D], str]
    fix_names: Callable[[str, D], FixNames] = lambda _target, _item: NO_NAMES

    def auditor(self, rules: tuple[str, ...], catalogue: Catalogue | None) -> AuditDescription:
        """The function that judges descriptions of this kind by these rules."""
        chosen = RuleSet(self.judge, rules, catalogue)

        def audit(item: Description, target: str, collector: FindingCollector) -> Audited | None:
            if not isinstance(item, self.kind):
                return None
            verdicts = ask(chosen.of(), self.subject(item))
            return self._audited(item, target, verdicts, collector)

        return audit

    def _audited(
        self, item: D, target: str, verdicts: Iterable[Judgement], collector: FindingCollector
    ) -> Audited:
        ref, named = self.ref(item), self.fix_names(target, item)
        places = partial(self.place, item)
        collector.take(verdicts, self.owner, lambda _field: self.key(item), places, ref, named)
        audited = collector.audited(target, self.name(item), self.owner, self.scope)
        file = self.place(item, None).file
        return msgspec.structs.replace(audited, file=file, uuid=ref.id, fix_names=named)


def _property_place(item: Image | Flavor, field: str | None) -> Location:
    found = item.property(field or "")
    return item.location if found is None else found.location


def _key_in_file(item: Image | Flavor | Preference) -> str:
    file = item.location.file
    owner = item.target if file is None else file_key(file)
    return f"{owner}#{item.location.xpath or ''}#{item.name}"


def _flavor_key(item: Flavor) -> str:
    """The key of a flavor. An id chosen by its creator (``1``, ``m1``) is combined with the name;
    an id that Nova made is a UUID, unique across clouds, and stands alone."""
    if item.id is None:
        return _key_in_file(item)
    return item.id if is_uuid(item.id) else f"{item.id}#{item.name}"


def _nova_conf() -> JudgedKind:
    return DescriptionJudging(
        kind=NovaConfig,
        judge=ConfigJudge,
        subject=ConfigSubject,
        scope="config",
        owner="nova",
        name=lambda item: item.file,
        ref=lambda _item: Ref("config"),  # its name is the file, which is its place
        place=NovaConfig.place,
        key=lambda item: file_key(item.file),
    )


def _image() -> JudgedKind:
    return DescriptionJudging(
        kind=Image,
        judge=ImageJudge,
        subject=ImageSubject,
        scope="image",
        owner="nova",
        name=lambda item: item.name,
        ref=lambda item: Ref("image", item.name or None, item.id),
        place=_property_place,
        key=lambda item: _key_in_file(item) if item.id is None else item.id,
        fix_names=of_image,
    )


def _flavor() -> JudgedKind:
    return DescriptionJudging(
        kind=Flavor,
        judge=FlavorJudge,
        subject=FlavorSubject,
        scope="flavor",
        owner="nova",
        name=lambda item: item.name,
        ref=lambda item: Ref("flavor", item.name or None, item.id),
        place=_property_place,
        key=_flavor_key,
    )


def _preference() -> JudgedKind:
    return DescriptionJudging(
        kind=Preference,
        judge=PreferenceJudge,
        subject=PreferenceSubject,
        scope="preference",
        owner="kubevirt",
        name=lambda item: item.name,
        ref=lambda item: Ref("preference", item.name or None),
        place=Preference.place,
        key=_key_in_file,
    )


JUDGED: tuple[Callable[[], JudgedKind], ...] = (_nova_conf, _image, _flavor, _preference)
"""Every kind of description, in the order in which they are tried: the record of a kind is loaded
when the item is of none before it. A new kind is a new row."""
