"""One suppression: a finding that somebody accepted, why, and until when.

It is written in the settings (``[[suppress]]``), in the domain's own metadata
(``<vnicaudit:suppress rule='VNIC003' reason='…' until='2027-01-31'/>``) or in a comment
(:mod:`vnicaudit.text.comment_walk`).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import Catalogue, close_hint
from vnicaudit.base.wording import close_to, shortened
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import (
    ALL_BUT_THE_MODEL,
    EVERY_RULE,
    AuditedScope,
    Finding,
    Location,
    Ref,
)
from vnicaudit.model.openstack import CloudServer
from vnicaudit.model.report import Audited, Suppressed

KEYS = ("rule", "reason", "owner", "until", "mac")
"""Attributes of the element in the metadata. It applies to the domain that contains it."""

IN_METADATA = "the domain's metadata"

_NAMED: tuple[AuditedScope, ...] = ("domain", "image", "flavor", "host")
"""Conditions on the name of the judged object."""
_COMPARING = {"mac", "site"}
"""Scopes of findings that belong to none of the compared guests or nodes alone."""
_DATE = r"(?a)\d{4}-\d\d-\d\d"


class SubjectIdentity(msgspec.Struct, frozen=True):
    """The judged object, as far as suppressions distinguish objects. A server of OpenStack has two
    names, Nova's and libvirt's, whichever source it was read from."""

    scope: AuditedScope = "domain"
    names: tuple[str | None, ...] = ()
    id: str | None = None
    """The UUID of a domain; the id of an image or flavor of a cloud."""
    project: str | None = None
    """The project of a server, if it is known."""

    @classmethod
    def of(cls, audited: Audited, server: CloudServer | None) -> SubjectIdentity:
        """Identify the subject of one judgement. ``server``: the OpenStack server, if it is one."""
        names: tuple[str | None, ...] = (audited.subject,)
        scope = "domain" if audited.scope == "mac" else audited.scope
        if server is None:
            return cls(scope, names, audited.uuid)
        names = (*names, server.name, server.instance_name)
        return cls(scope, names, audited.uuid, server.project)

    def is_called(self, pattern: str, scope: AuditedScope) -> bool:
        """True if the subject is of kind ``scope`` and its name matches ``pattern``; an image or
        flavor may also be named by its id."""
        names = self.names if scope == "domain" else (*self.names, self.id)
        return self.scope == scope and any(_matches(name, pattern) for name in names)


class Suppression(msgspec.Struct, frozen=True, kw_only=True):
    """One suppression, checked. ``rule`` is an id or a prefix of one, in upper case; optional
    conditions are None if they do not apply."""

    rule: str
    reason: str
    location: Location
    owner: str | None = None
    until: datetime.date | None = None
    """The last day on which it applies."""
    domain: str | None = None
    uuid: str | None = None
    mac: str | None = None
    file: str | None = None
    project: str | None = None
    image: str | None = None
    flavor: str | None = None
    host: str | None = None
    link: str | None = None
    in_metadata: bool = False
    lines: tuple[int, int] | None = None
    """For a comment: the first and the last line of its file that it is about."""

    @property
    def source(self) -> str:
        """The place where it is written, for a report."""
        return IN_METADATA if self.in_metadata else str(self.location)

    def expired(self, today: datetime.date) -> bool:
        """True once the last day of a suppression is over."""
        return self.until is not None and today > self.until

    def covers(self, rule: str) -> bool:
        """True for a rule that the suppression covers."""
        return rule.startswith(self.rule)

    def matches(self, finding: Finding, whom: SubjectIdentity) -> bool:
        """True if this entry accepts ``finding``, expired or not. ``whom``: the judged object."""
        return (
            self.covers(finding.rule)
            and (self.mac is None or self.mac == (finding.about.mac or "").lower())
            and (self.link is None or _is_link(finding.about, self.link))
            and self.regards(whom, finding.location.file)
            and self._is_on(finding.location)
        )

    def _is_on(self, place: Location) -> bool:
        if self.lines is None:
            return True
        first, last = self.lines
        return place.file == self.location.file and first <= (place.line or 0) <= last

    def regards(self, whom: SubjectIdentity, file: str | None) -> bool:
        """True if this entry is about that domain, host, image… ``file``: the file that defines
        it."""
        names = ((kind, getattr(self, kind)) for kind in _NAMED)
        return (
            all(name is None or whom.is_called(name, kind) for kind, name in names)
            and (self.link is None or whom.scope == "host")
            and (self.uuid is None or self.uuid == whom.id)
            and (self.file is None or (file is not None and _glob(file, self.file)))
            and (self.project is None or self.project == whom.project)
        )

    @property
    def name(self) -> str | None:
        """The name of the domain, image, flavor or host it is about, or a pattern of names."""
        return self.domain or self.image or self.flavor or self.host

    @property
    def about_one(self) -> bool:
        """True if this entry names a single domain, NIC, image, flavor or host rather than a
        pattern."""
        exact = self.name is not None and not set("*?[") & set(self.name)
        one_line = self.lines is not None and self.lines[0] == self.lines[1]
        return exact or one_line or self.uuid is not None or self.mac is not None

    def __str__(self) -> str:
        narrowing = (
            "domain", "image", "flavor", "host", "link", "uuid", "mac", "file", "project",
        )  # fmt: skip
        parts = [f"{name} {getattr(self, name)}" for name in narrowing if getattr(self, name)]
        return " ".join([shortened(self.rule), *([f"for {', '.join(parts)}"] if parts else [])])


def own_suppression(
    given: dict[str, str],
    place: Location,
    catalogue: Catalogue,
    lines: tuple[int, int] | None = None,
) -> Suppression | str:
    """An entry at a ``place`` in the metadata of a domain, or in a comment about ``lines`` of its
    file, checked against the rules of a catalogue. Returns a sentence with the problem if it is not
    valid."""
    if lines is not None and "problem" in given:
        return given["problem"]
    if (problem := _problem(given, catalogue)) is not None:
        return problem
    until = given.get("until")
    return Suppression(
        rule=given["rule"].strip().upper(),
        reason=given["reason"].strip(),
        location=place,
        owner=given.get("owner"),
        until=None if until is None else datetime.date.fromisoformat(until),
        mac=None if "mac" not in given else given["mac"].strip().lower().replace("-", ":"),
        in_metadata=lines is None,
        lines=lines,
    )


def _problem(given: dict[str, str], catalogue: Catalogue) -> str | None:
    known = catalogue.ids
    for key in given:
        if key not in KEYS:
            return f"unknown attribute {shortened(key)!r}{close_to(shortened(key), KEYS)}"
    rule = given.get("rule", "").strip()
    if not rule:
        return "no rule"
    meant = [name for name in known if name.startswith(rule.upper())]
    if not meant:
        return f"no rule begins with {shortened(rule)!r}{close_hint(shortened(rule), known)}"
    if all(_COMPARING.intersection(catalogue.listed(name).scopes) for name in meant):
        return f"{rule.upper()} compares several of a run: accept it in vnicaudit.toml"
    if not given.get("reason", "").strip():
        return f"no reason for {shortened(rule)}: say why it is accepted"
    return _date_problem(given.get("until"))


def _date_problem(until: str | None) -> str | None:
    if until is None:
        return None
    try:
        # since Python 3.11, fromisoformat accepts weeks (2027-W01-1) too
        if re.fullmatch(_DATE, until) is not None and datetime.date.fromisoformat(until):
            return None
    except ValueError:
        pass
    return f"until {shortened(until)!r} is no date such as 2027-01-31"


def _is_link(about: Ref, pattern: str) -> bool:
    return about.kind == "link" and _matches(about.name, pattern)


def _matches(name: str | None, pattern: str) -> bool:
    return name is not None and fnmatchcase(name, pattern)


def _glob(path: str, pattern: str) -> bool:
    return fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern)


# The rules of a run, as far as a suppression depends on the findings they may still report.


_ALL = (EVERY_RULE, ALL_BUT_THE_MODEL)


class RunRules:
    """The ids of the rules that are judged in this run."""

    def __init__(self, rules: Iterable[str], catalogue: Catalogue) -> None:
        self._rules = tuple(rules)
        self._catalogue = catalogue
        self._live: dict[str, bool] = {}

    def selects(self, entry: Suppression) -> bool:
        """True if an entry is about one of these rules."""
        return any(entry.covers(rule) for rule in self._rules)

    def is_undecided(self, entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
        """True if a rule that the entry is about could not be judged here: skipped, crashed, or
        without findings because it judges only facts of a live host."""
        offline = domain is not None and domain.state is None
        if offline and any(entry.covers(rule) and self._needs_live(rule) for rule in self._rules):
            return True
        unjudged = [(one.rule, one.about.mac) for one in audited.skipped]
        unjudged += [(one.rule, one.about.mac) for one in audited.crashed]
        return any(
            (entry.covers(rule) or rule in _ALL) and (not entry.mac or mac in (None, entry.mac))
            for rule, mac in unjudged
        )

    def _needs_live(self, rule: str) -> bool:
        """True if a rule needs live facts, which a definition alone lacks."""
        found = self._live.get(rule)
        if found is None:
            needs = self._catalogue.main_judge(rule).needs
            found = self._live[rule] = any(need.live for need in needs)
        return found


def without_accepted(
    audited: Audited, entries: Sequence[Suppression], domain: Domain | None
) -> tuple[Audited, set[int]]:
    """The judgement with each finding that an entry matches moved to ``suppressed``, and the
    numbers of all entries that match one, not only of the first. ``domain``: the judged domain."""
    used: set[int] = set()
    if not entries or not audited.findings:
        return audited, used
    whom = SubjectIdentity.of(audited, None if domain is None else domain.cloud)
    remaining: list[Finding] = []
    moved: list[Suppressed] = []
    for finding in audited.findings:
        matching = [at for at, entry in enumerate(entries) if entry.matches(finding, whom)]
        used.update(matching)
        if matching:
            moved.append(_suppressed(finding, entries[matching[0]]))
        else:
            remaining.append(finding)
    if not moved:
        return audited, used
    suppressed = (*audited.suppressed, *moved)
    return replace(audited, findings=tuple(remaining), suppressed=suppressed), used


def _suppressed(finding: Finding, entry: Suppression) -> Suppressed:
    until = "" if entry.until is None else entry.until.isoformat()
    in_source = entry.in_metadata or entry.lines is not None
    return Suppressed(finding, entry.reason, entry.source, entry.owner or "", until, in_source)
