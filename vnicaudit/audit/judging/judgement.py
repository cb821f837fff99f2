"""The verdicts of rules on one subject, and the findings made of them, each with its fingerprint;
and all of this for a configuration file, an image, a flavor or a preference.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import Catalogue, LoadedRule, NamedRule, RuleSet
from vnicaudit.base.wording import ANY_UUID
from vnicaudit.knowledge.fixes.owners import WordedFix, Wordings, of_image
from vnicaudit.knowledge.nova_conf.homes import in_words_of
from vnicaudit.model.finding import (
    AuditedScope,
    Confidence,
    Crashed,
    Description,
    Finding,
    FindingOwner,
    Location,
    Ref,
    Scope,
    Skipped,
)
from vnicaudit.model.names import NO_NAMES, FixNames
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import Problem

if TYPE_CHECKING:
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.nic import Nic


# Fingerprints, which identify a finding across audits and targets.


try:  # as Python's random module does: hashlib loads OpenSSL, which takes longer than a lint
    from _blake2 import blake2b
except ImportError:  # an interpreter built without it
    from hashlib import blake2b


def digest(*texts: str) -> str:
    """24 hexadecimal digits for these texts."""
    data = "\0".join(texts).encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=12).hexdigest()


def fingerprint_of(rule: str, owner: str, part: str) -> str:
    """The fingerprint of a finding: for a rule, an owner (a domain's UUID, a file, a host) and a
    part of it (a MAC address, an xpath, an option). Never for a line number."""
    return digest(rule, owner, part)


def file_key(path: str) -> str:
    """One spelling for a file, however it was named: relative to the current folder if it is below
    it, absolute if it is not."""
    try:
        here = os.getcwd().rstrip("/") + "/"
    except FileNotFoundError:  # the current folder has been deleted
        return path
    return os.path.abspath(path).removeprefix(here)


def domain_fingerprint(rule: str, domain: Domain, nic: Nic | None) -> str:
    """The fingerprint of a finding on a domain or one of its NICs."""
    return fingerprint_of(rule, *identity_parts(domain, nic))


def identity_parts(domain: Domain, nic: Nic | None) -> tuple[str, str]:
    """Owner and part for the fingerprint of a domain or one of its NICs: UUID and MAC; if they are
    missing, the file and the place in it."""
    if domain.uuid is not None and (nic is None or nic.mac is not None):
        return domain.uuid, "" if nic is None else _mac(domain, nic)
    place = domain.location if nic is None else nic.location
    owner = f"{place.target}#{domain.name}" if place.file is None else file_key(place.file)
    if place.xpath is not None:
        return owner, place.xpath
    part = "" if nic is None else nic.mac or nic.alias or f"#{nic.index}"
    return owner, f"{domain.mark}/{part}"


def _mac(domain: Domain, nic: Nic) -> str:
    """The MAC, with the NIC's number if another NIC of the domain has the same MAC: they are two
    findings."""
    mac = nic.mac or ""
    twice = len(domain.nics) > 1 and [other.mac for other in domain.nics].count(mac) > 1
    return f"{mac}#{nic.index}" if twice else mac


S = TypeVar("S")


class RuleVerdict(msgspec.Struct, frozen=True):
    """One rule's verdict on one subject: problems, or the facts it lacks, or how it crashed."""

    rule: NamedRule
    problems: tuple[Problem, ...] = ()
    needs: str = ""
    error: str = ""
    live: bool = False
    """True if only a live host has something that it lacks."""


def ask(rules: Iterable[LoadedRule[S]], subject: S) -> tuple[RuleVerdict, ...]:
    """Every rule's answer; rules without an answer are left out."""
    verdicts = []
    for rule in rules:
        try:
            judge = rule.judge
            if not judge.applies(subject):
                continue
            missing = [need for need in judge.needs if not need.known(subject)]
            if missing:
                told = (each.reason(subject) if each.reason else each.tell for each in missing)
                needs = "; ".join(dict.fromkeys(told))
                live = any(need.live for need in missing)
                verdicts.append(RuleVerdict(rule, needs=needs, live=live))
            elif problems := tuple(judge.check(subject)):
                verdicts.append(RuleVerdict(rule, problems))
        except Exception as error:  # an edge: a rule's crash is reported, never a pass
            verdicts.append(RuleVerdict(rule, error=f"{type(error).__name__}: {error}"))
    return tuple(verdicts)


def finding_of(
    rule: NamedRule,
    problem: Problem,
    ref: Ref,
    where: Location,
    owner: FindingOwner,
    fingerprint: str,
    fix: WordedFix,
) -> Finding:
    """The finding of a problem, with its object, place, ``fingerprint`` and the fix, worded
    for the owner."""
    return Finding(
        rule.id,
        rule.name,
        problem.severity or rule.severity,
        problem.confidence,
        problem.message,
        ref,
        where,
        owner,
        problem.change,
        fingerprint,
        fix.text,
        problem.related,
        fix.values,
    )


_LOWER: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low"}


class FindingCollector:
    """Collects the verdicts of rules on one domain, host or file. ``wordings``: the words of fixes
    for each owner."""

    __slots__ = ("crashed", "findings", "skipped", "wordings")

    def __init__(self, wordings: Wordings) -> None:
        self.wordings = wordings
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.crashed: list[Crashed] = []

    def note(self, verdict: RuleVerdict, ref: Ref) -> None:
        """Record a verdict that could not be reached."""
        if verdict.needs:
            self.skipped.append(Skipped(verdict.rule.id, ref, verdict.needs, verdict.live))
        elif verdict.error:
            self.crashed.append(Crashed(verdict.rule.id, ref, verdict.error))

    def doubt_nics(self) -> None:
        """Lower the confidence of the findings on NICs by one step."""
        self.findings = [
            one if one.about.kind != "nic" else replace(one, confidence=_LOWER[one.confidence])
            for one in self.findings
        ]

    def take(
        self,
        verdicts: Iterable[RuleVerdict],
        owner: FindingOwner,
        key_of: Callable[[str | None], str],
        place_of: Callable[[str | None], Location],
        ref: Ref,
        named: FixNames = NO_NAMES,
    ) -> None:
        """Collect verdicts on objects other than NICs, whose rules word the whole fix. ``key_of``:
        the object's key by a problem's field, for the fingerprint; ``place_of``: the place of a
        field; ``ref``: the object; ``named``: names that fixes can use."""
        for verdict in verdicts:
            for problem in verdict.problems:
                field = problem.field
                fingerprint = fingerprint_of(verdict.rule.id, key_of(field), field or "")
                where = place_of(field)
                fix = self.wordings.worded(None, problem.fix, owner, named)
                self.findings.append(
                    finding_of(verdict.rule, problem, ref, where, owner, fingerprint, fix)
                )
            self.note(verdict, ref)

    def audited(
        self, target: str, subject: str, owner: FindingOwner, scope: AuditedScope
    ) -> Audited:
        """Return everything collected on an object that is not a domain."""
        return Audited(
            target=target,
            subject=subject,
            owner=owner,
            scope=scope,
            findings=tuple(self.findings),
            skipped=tuple(self.skipped),
            crashed=tuple(self.crashed),
        )


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
        verdicts = ask(rules.of(), item)
        if isinstance(item, NovaConfig) and item.home:
            verdicts = tuple(_in_words_of_home(verdict, item) for verdict in verdicts)
        collector.take(verdicts, owner, lambda _field: key, item.place, ref, named)
        name = ref.name or "" if scope != "config" else place.file or ""
        audited = collector.audited(target, name, owner, scope)
        return replace(audited, file=place.file, uuid=ref.id, fix_names=named)


def _in_words_of_home(verdict: RuleVerdict, config: NovaConfig) -> RuleVerdict:
    """The verdict on settings in another program's file, in its terms."""
    problems = tuple(
        replace(
            problem,
            message=in_words_of(config, problem.message, problem.field),
            fix=in_words_of(config, problem.fix) if isinstance(problem.fix, str) else problem.fix,
        )
        for problem in verdict.problems
    )
    needs = in_words_of(config, verdict.needs)
    return replace(verdict, problems=problems, needs=needs)


def _key(item: Description) -> str:
    """Identifies a description across audits. Never contains a line. The id of a flavor may be
    chosen by its creator (``1``, ``m1``) and is combined with the name, unless Nova made it: a UUID
    is unique across clouds."""
    ref, place = item.ref, item.place(None)
    if item.scope == "config":
        return file_key(place.file or "") + (f"#{place.xpath}" if place.xpath else "")
    if ref.id is not None:
        alone = item.scope == "image" or ANY_UUID.fullmatch(ref.id)
        return ref.id if alone else f"{ref.id}#{ref.name or ''}"
    owner = place.target if place.file is None else file_key(place.file)
    # a cluster is not its KubeVirt object, which not everybody may read
    part = "" if place.object else place.xpath or ""
    return f"{owner}#{part}#{ref.name or ''}"
