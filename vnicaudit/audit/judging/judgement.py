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
from vnicaudit.knowledge.fixes.owners import Wordings, of_image
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
    from vnicaudit.model.fix import Fix
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


_LOWER: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low"}


Place = tuple[Ref, Location, tuple[str, str]]
"""The object of a finding, its place, and the parts of its fingerprint besides the rule."""


class FindingCollector:
    """Collects the verdicts of rules on one domain, host or file. ``wordings``: the words of fixes
    for each owner; ``named``: names that fixes can use."""

    def __init__(self, wordings: Wordings, owner: FindingOwner, named: FixNames = NO_NAMES) -> None:
        self._wordings = wordings
        self._owner = owner
        self._named = named
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.crashed: list[Crashed] = []

    def take(
        self,
        verdicts: Iterable[RuleVerdict],
        ref: Ref,
        place_of: Callable[[str | None], Place],
        *,
        advice_of: Callable[[Problem], str | Fix] = lambda problem: problem.fix,
        is_whole: bool = False,
        in_arguments: bool = False,
    ) -> None:
        """Collect verdicts on the object ``ref``. ``place_of``: the place of a problem's field;
        ``advice_of``: the advice on a problem; ``is_whole``: it is the whole fix, also of a problem
        with a change; ``in_arguments``: as for :meth:`Wordings.worded`."""
        for verdict in verdicts:
            rule = verdict.rule
            for problem in verdict.problems:
                about, where, parts = place_of(problem.field)
                fix = self._wordings.worded(
                    None if is_whole else problem.change,
                    advice_of(problem),
                    self._owner,
                    self._named,
                    in_arguments=in_arguments,
                )
                self.findings.append(
                    Finding(
                        rule.id,
                        rule.name,
                        problem.severity or rule.severity,
                        problem.confidence,
                        problem.message,
                        about,
                        where,
                        self._owner,
                        problem.change,
                        fingerprint_of(rule.id, *parts),
                        fix.text,
                        problem.related,
                        fix.values,
                    )
                )
            self._note(verdict, ref)

    def _note(self, verdict: RuleVerdict, ref: Ref) -> None:
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

    def audited(self, target: str, subject: str, scope: AuditedScope) -> Audited:
        """Return everything collected on an object that is not a domain."""
        return Audited(
            target=target,
            subject=subject,
            owner=self._owner,
            scope=scope,
            findings=tuple(self.findings),
            skipped=tuple(self.skipped),
            crashed=tuple(self.crashed),
        )


class Auditor:
    """Judges by a fixed set of rules. ``wordings``: the words of fixes for each owner. Not shared
    between threads."""

    def __init__(
        self, rule_ids: Iterable[str], wordings: Wordings, catalogue: Catalogue | None = None
    ) -> None:
        self._rule_ids = tuple(rule_ids)
        self._wordings = wordings
        self._catalogue = catalogue
        self._rule_sets: dict[Scope, RuleSet[object]] = {}

    def _rules(self, scope: Scope) -> RuleSet[object]:
        """The rules that judge in this scope."""
        if scope not in self._rule_sets:
            self._rule_sets[scope] = RuleSet(scope, self._rule_ids, self._catalogue)
        return self._rule_sets[scope]


class DescriptionAuditor(Auditor):
    """Judges descriptions."""

    def audit(self, item: Description, target: str) -> Audited:
        """Judge one description."""
        scope, ref, place, key = item.scope, item.ref, item.place(None), _key(item)
        named = of_image(target, item) if isinstance(item, Image) else NO_NAMES
        verdicts = ask(self._rules(scope).of(), item)
        if isinstance(item, NovaConfig) and item.home:
            verdicts = tuple(_in_words_of_home(verdict, item) for verdict in verdicts)
        collector = FindingCollector(self._wordings, item.described_for, named)
        collector.take(
            verdicts,
            ref,
            lambda field: (ref, item.place(field), (key, field or "")),
            is_whole=True,
        )
        name = ref.name or "" if scope != "config" else place.file or ""
        audited = collector.audited(target, name, scope)
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
