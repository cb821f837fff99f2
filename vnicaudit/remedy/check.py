"""Objections to changes that were made in memory, raised before a file is replaced.

The finding must be gone, no worse finding may appear, and every other fact must be as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import asdict, fields, replace

from vnicaudit.audit.reading.files import read_stream
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import Domain, DomainConfig, FromManifest
from vnicaudit.model.file_kind import Item
from vnicaudit.model.finding import SEVERITIES, Change, Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.report import Audited, NotJudged, PutAside, ReadError
from vnicaudit.remedy.replacing import Writers

# Bytes of a file -> its items, judged: before a change, and after it.


Key = tuple[int, str, str, int | None, str | None]
"""The identity of a finding across an edit: position of its subject in the file, rule, fingerprint,
NIC, and the field to be changed. Lines may move."""


class AuditedItem(NamedTuple):
    """One item that was read, and its findings, without suppressed ones."""

    item: Item
    audited: Audited


class JudgedFile(NamedTuple):
    """Everything in a file, in order; ``errors`` say what could not be read."""

    audited_items: tuple[AuditedItem, ...]
    errors: tuple[str, ...]

    def findings(self) -> dict[Key, Finding]:
        """Every finding by key; if several have the same key, the most severe."""
        found: dict[Key, Finding] = {}
        for number, one in enumerate(self.audited_items):
            ranked = sorted(one.audited.findings, key=lambda each: SEVERITIES.index(each.severity))
            for finding in ranked:
                found[key_of(number, finding)] = finding
        return found


def key_of(subject: int, finding: Finding) -> Key:
    """See :data:`Key`."""
    field = None if finding.change is None else finding.change.field
    return subject, finding.rule, finding.fingerprint, finding.about.index, field


class Reader(NamedTuple):
    """Reads and judges the new content of one file. ``preferences``: the files whose preferences
    are fixed too (absolute paths)."""

    path: str
    work: AuditWork
    preferences: frozenset[str] = frozenset()

    def read(self, data: bytes) -> JudgedFile:
        """Read and judge ``data`` as the content of the file."""
        judged: list[AuditedItem] = []
        errors: list[str] = []
        for item in read_stream(BytesIO(data), self.path, self.work.platforms.files):
            if isinstance(item, ReadError):
                errors.append(item.message)
            elif isinstance(item, Domain):
                domain = self._beside(item)
                judged.append(
                    AuditedItem(domain, self.work.domain(domain, HostConfig(), self.path))
                )
            elif not isinstance(item, PutAside | NotJudged):
                judged.append(AuditedItem(item, self.work.description(item, self.path)))
        return JudgedFile(tuple(judged), tuple(errors))

    def _beside(self, domain: Domain) -> Domain:
        """The domain as it is judged if its preference is fixed: it needs no fix for that
        itself."""
        declared, known_by = domain.declared, domain.known_by
        beside = known_by.preference_file if isinstance(known_by, FromManifest) else None
        if declared.manifest is None or beside not in self.preferences:
            return domain
        manifest = replace(declared.manifest, preference_judged=True)
        return replace(domain, declared=replace(declared, described_by=manifest))


_PREFERS = {"model": "interface_model"}
"""Field of a change -> the field of a preference's record."""
_PLACES = {"location", "places", "comments"}
_SWITCHED = ("queues", "multiqueue")
"""Fields that a manifest sets for all NICs of a domain."""
_FIELDS = frozenset(field.name for field in fields(NicConfig))


class MadeChange(NamedTuple):
    """A finding whose change was made; ``subject`` is the position of its subject in the file.
    ``beside`` are changes that go with it."""

    subject: int
    finding: Finding
    change: Change
    beside: tuple[Change, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """Everything that is changed."""
        return (self.change, *self.beside)

    @property
    def key(self) -> Key:
        """The key that the same finding has when the text is read again."""
        return key_of(self.subject, self.finding)


def objection(
    before: JudgedFile, after: JudgedFile, made: Iterable[MadeChange], writers: Writers
) -> str | None:
    """The first objection to having made these changes (in the order of their subjects); None if
    there is none."""
    made = tuple(made)
    return next(_objections(before, after, made, writers), None)


def _objections(
    before: JudgedFile, after: JudgedFile, made: tuple[MadeChange, ...], writers: Writers
) -> Iterator[str]:
    if before.errors != after.errors:
        error = next(iter(after.errors), "")
        yield f"the result could not be read as before: {error or 'something is missing'}"
    if len(before.audited_items) != len(after.audited_items):
        yield "the result would describe fewer things than before"
        return
    by_subject: dict[int, tuple[MadeChange, ...]] = {
        number: tuple(group) for number, group in groupby(made, lambda one: one.subject)
    }
    preferred = any(isinstance(before.audited_items[one.subject].item, Preference) for one in made)
    for number, (old, new) in enumerate(
        zip(before.audited_items, after.audited_items, strict=True)
    ):
        if len(new.audited.crashed) > len(old.audited.crashed):
            yield f"rule {new.audited.crashed[-1].rule} crashes on the result"
        mine = by_subject.get(number, ())
        old_item, new_item = (
            _without_preference(old.item, preferred),
            _without_preference(new.item, preferred),
        )
        yield from _other_facts(old_item, new_item, mine, writers)
    yield from _findings(before.findings(), after.findings(), made)


def _findings(
    before: dict[Key, Finding], after: dict[Key, Finding], made: tuple[MadeChange, ...]
) -> Iterator[str]:
    for one in made:
        if one.key in after:
            yield f"the problem would remain: {after[one.key].message}"
    worst = _worst(made)
    for key, finding in after.items():
        old = before.get(key)
        rank = SEVERITIES.index(finding.severity)
        if old is not None and rank <= SEVERITIES.index(old.severity):
            continue
        if finding.confidence == "low":  # a hint (more queues?) does no harm
            continue
        if rank > worst.get((key[0], key[3]), worst.get(key[0], -1)):
            yield f"it would cause {finding.rule} ({finding.severity}): {finding.message}"


def _worst(made: tuple[MadeChange, ...]) -> dict[object, int]:
    """How severe a new finding may be, by subject and NIC: at most as severe as what was fixed on
    that NIC; or by subject alone, as severe as what was fixed in that domain or file."""
    found: dict[object, int] = {}
    for one in made:
        rank = SEVERITIES.index(one.finding.severity)
        for place in ((one.subject, one.finding.about.index), one.subject):
            found[place] = max(rank, found.get(place, -1))
    return found


def _other_facts(
    old: Item, new: Item, made: tuple[MadeChange, ...], writers: Writers
) -> Iterator[str]:
    if isinstance(old, Domain) and isinstance(new, Domain):
        yield from _domain(old, new, made, writers)
    elif isinstance(old, NovaConfig) and isinstance(new, NovaConfig):
        yield from _nova(old, new, made)
    elif isinstance(old, Preference) and isinstance(new, Preference):
        changed = {_PREFERS.get(one.change.field, one.change.field) for one in made} | _PLACES
        if _without_fields(asdict(old), changed) != _without_fields(asdict(new), changed):
            yield "something else in the preference would change"
    elif type(old) is not type(new):
        yield "the result would be of another kind than before"


def _without_preference(item: Item, preferred: bool) -> Item:
    """The item without the model that a preference gives it, if a preference is changed."""
    if not preferred or not isinstance(item, Domain) or item.declared.manifest is None:
        return item
    manifest = replace(item.declared.manifest, preferred_model=None)
    return replace(item, declared=replace(item.declared, described_by=manifest))


def _nova(old: NovaConfig, new: NovaConfig, made: tuple[MadeChange, ...]) -> Iterator[str]:
    values: dict[NovaOption, str] = {}
    removed: set[_OptionKey] = set()  # with all options of that name
    for one in made:
        option, value = old.at_place(one.finding.location), one.change.new
        if option is None or option.name != one.change.field.rpartition("/")[2]:
            yield f"{one.change.field} is no longer there"
            return
        if value is None:
            removed.add(_option_key(option))
        else:
            values[option] = value
    wanted = [
        (_option_key(option), values.get(option, option.value), option.certain)
        for option in old.options if _option_key(option) not in removed
    ]  # fmt: skip
    found = [(_option_key(option), option.value, option.certain) for option in new.options]
    if wanted != found or old.rest_checksum != new.rest_checksum:
        yield "another option of the file would change"


def _domain(
    old: Domain, new: Domain, made: tuple[MadeChange, ...], writers: Writers
) -> Iterator[str]:
    changes = [change for one in made for change in one.changes]
    if (old.name, old.uuid) != (new.name, new.uuid) or len(old.nics) != len(new.nics):
        yield "it would become another domain"
        return
    if _rest_of_domain(old.declared, changes) != _rest_of_domain(new.declared, changes):
        yield "something else in the domain would change"
    shared = _shared(old, changes, writers)
    by_nic: dict[int | None, list[Change]] = {}
    for one in made:
        by_nic.setdefault(one.finding.about.index, []).extend(one.changes)
    for nic, other in zip(old.nics, new.nics, strict=True):
        free = _entailed(old, by_nic.get(nic.index, []), writers) | shared
        yield from _nic(nic, other, by_nic.get(nic.index, []), shared, free)


def _nic(
    old: Nic, new: Nic, changes: list[Change], shared: set[str], free: set[str]
) -> Iterator[str]:
    if _identity(old) != _identity(new):
        yield f"NIC {old.index} would become another NIC"
    wanted = {change.field: change.new for change in changes if change.field in _FIELDS}
    for field, value in wanted.items():
        if field not in shared and _field_text(new.declared, field) != value:
            yield f"{field} would not be {value or 'gone'}"
    free = wanted.keys() | free
    for refusal in new.declared.refused:
        if refusal not in old.declared.refused:
            effect = (
                "the domain would not start"
                if refusal.at_start
                else ("libvirt would refuse the definition")
            )
            yield f"{effect}: {refusal.reason}"
    if _rest_of_nic(old.declared, free) != _rest_of_nic(new.declared, free):
        yield f"something else of NIC {old.index} would change"


def _entailed(domain: Domain, changes: Iterable[Change], writers: Writers) -> set[str]:
    """Fields that change along with the changed ones."""
    writer = writers(domain)
    entailed = {} if writer is None else writer.ENTAILED
    return {other for change in changes for other in entailed.get(change.field, ())}


def _shared(domain: Domain, changes: list[Change], writers: Writers) -> set[str]:
    """Changed fields that change on every NIC at once."""
    writer = writers(domain)
    return {change.field for change in changes} & writer.SHARED if writer is not None else set()


def _identity(nic: Nic) -> tuple[object, ...]:
    return nic.index, nic.mac, nic.source, nic.target_dev, nic.alias, nic.running


def _field_text(nic: NicConfig, field: str) -> str | None:
    value = getattr(nic, field)
    return None if value in (None, ()) else str(value)


def _rest_of_nic(nic: NicConfig, free: set[str]) -> NicConfig:
    """The NIC's settings with those in ``free`` reset to the defaults of an empty NIC, and without
    libvirt's refusals, which follow from the settings."""
    invalid = tuple(entry for entry in nic.invalid if entry[0] not in free)
    nothing = NicConfig()
    return replace(
        nic, **{field: getattr(nothing, field) for field in free}, invalid=invalid, refused=()
    )


def _rest_of_domain(domain: DomainConfig, changes: list[Change]) -> DomainConfig:
    """The domain's settings without those that follow from the changes: the model of a NIC may
    decide which drivers the guest is assumed to have."""
    if any(change.field == "model" for change in changes):
        domain = replace(domain, readiness="", pcie_ports=None)
    if domain.manifest is not None and any(change.field in _SWITCHED for change in changes):
        domain = replace(domain, described_by=replace(domain.manifest, multiqueue=None))
    return domain


_OptionKey = tuple[str, str, str]


def _option_key(option: NovaOption) -> _OptionKey:
    return option.file, option.section, option.name


def _without_fields(given: dict[str, object], names: set[str]) -> dict[str, object]:
    return {name: value for name, value in given.items() if name not in names}
