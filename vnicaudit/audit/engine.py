"""Rules x NICs: judge one domain (or host) and say what was found, skipped and crashed.

A rule's verdict depends on nothing but its subject, so it is remembered: a fleet has many NICs
and few kinds of them. What is remembered is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.catalogue import LoadedRule, load, load_config
from vnicaudit.audit.effective import QEMU_DOMAINS, resolve
from vnicaudit.audit.facts import FACTS
from vnicaudit.audit.fingerprint import digest, file_key
from vnicaudit.audit.fixes import commandline_text, fix_text
from vnicaudit.model.domain import Domain
from vnicaudit.model.effective import Effective
from vnicaudit.model.finding import Crashed, Finding, NicRef, Skipped
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import ConfigSubject, DomainSubject, HostSubject, Problem, Subject
from vnicaudit.platforms.domain_xml.fields import XPATH

_REMEMBERED = 8192
FOREIGN = "*"
"""The ``rule`` of the one Skipped entry of a domain that is not QEMU's: all rules."""


class Judgement(NamedTuple):
    """What one rule said of one subject: problems, or what it needs, or how it crashed."""

    rule: LoadedRule
    problems: tuple[Problem, ...] = ()
    needs: str = ""
    error: str = ""


class Engine:
    """Judges with a fixed set of rules. Not shared between threads."""

    def __init__(self, rule_ids: Iterable[str]) -> None:
        rule_ids = tuple(rule_ids)
        beside = (load_config(rule_id) for rule_id in rule_ids)
        rules = [load(rule_id) for rule_id in rule_ids] + [rule for rule in beside if rule]
        self._nic_rules = [rule for rule in rules if rule.scope == "nic"]
        self._domain_rules = [rule for rule in rules if rule.scope == "domain"]
        self._host_rules = [rule for rule in rules if rule.scope == "host"]
        self._config_rules = [rule for rule in rules if rule.scope == "config"]
        self._verdicts: dict[Subject, tuple[Judgement, ...]] = {}
        self._domain_verdicts: dict[DomainSubject, tuple[Judgement, ...]] = {}
        self._effective: dict[tuple[object, ...], Effective] = {}

    def audit_domain(self, domain: Domain, host: HostConfig, target: str) -> Audited:
        """Judge every NIC of a domain, then the domain."""
        tray = _Tray()
        if domain.declared.type in QEMU_DOMAINS:
            self._judge_all(domain, host, tray)
        elif domain.nics:
            reason = f"a QEMU or KVM domain (this one is type='{domain.declared.type}')"
            tray.skipped.append(Skipped(FOREIGN, _domain_ref(domain), reason))
        return Audited(
            target,
            domain.name,
            domain.uuid,
            domain.declared.owner,
            "domain",
            len(domain.nics),
            tuple(tray.findings),
            tuple(tray.skipped),
            tuple(tray.crashed),
        )

    def _judge_all(self, domain: Domain, host: HostConfig, tray: _Tray) -> None:
        owner = domain.declared.owner
        subjects = self.subjects(domain, host)
        for nic, subject in zip(domain.nics, subjects, strict=True):
            verdicts = self._judge_nic(subject)
            if not verdicts:
                continue
            ref = NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)
            for verdict in verdicts:
                for problem in verdict.problems:
                    mark = _fingerprint(verdict.rule.id, domain, nic)
                    where = _point(nic, problem.field, nic.location)
                    finding = _finding(verdict.rule, problem, ref, where, owner, mark)
                    tray.findings.append(_reworded(finding, problem, nic))
                tray.note(verdict, ref)
        if self._domain_rules and subjects:
            whole = DomainSubject(subjects, domain.declared, host, domain.state)
            ref = _domain_ref(domain)
            for verdict in self._judge_domain(whole):
                mark = _fingerprint(verdict.rule.id, domain, None)
                for problem in verdict.problems:
                    tray.findings.append(
                        _finding(verdict.rule, problem, ref, domain.location, owner, mark)
                    )
                tray.note(verdict, ref)

    def audit_host(self, host: Host, uses: frozenset[str], target: str) -> Audited:
        """Judge a host by itself. ``uses``: see :class:`HostSubject`."""
        tray = _Tray()
        for verdict in _ask(self._host_rules, HostSubject(host.declared, uses)):
            mark = digest(verdict.rule.id, host.name, "")
            for problem in verdict.problems:
                tray.findings.append(
                    _finding(verdict.rule, problem, NicRef(), Location(target), "host", mark)
                )
            tray.note(verdict, NicRef())
        return tray.audited(target, host.name, "host", "host")

    def audit_config(self, config: NovaConfig, target: str) -> Audited:
        """Judge one of Nova's configuration files."""
        tray = _Tray()
        for verdict in _ask(self._config_rules, ConfigSubject(config)):
            for problem in verdict.problems:
                mark = digest(verdict.rule.id, file_key(config.file), problem.field or "")
                where = config.place(problem.field)
                tray.findings.append(_finding(verdict.rule, problem, NicRef(), where, "nova", mark))
            tray.note(verdict, NicRef())
        return tray.audited(target, config.file, "nova", "config")

    def subjects(self, domain: Domain, host: HostConfig) -> tuple[Subject, ...]:
        """The domain's NICs as rules see them, in order."""
        # without its MAC: a subject has no identity
        staged = {change.mac: replace(change, mac=None) for change in domain.staged}
        return tuple(
            Subject(
                nic.declared,
                self.effective(nic, domain, host),
                domain.declared,
                host,
                nic.running,
                domain.state,
                staged.get(nic.mac) if staged else None,
            )
            for nic in domain.nics
        )

    def effective(self, nic: Nic, domain: Domain, host: HostConfig) -> Effective:
        """What the guest gets of this NIC; remembered by what it depends on."""
        key = (nic.declared, domain.declared, host, nic.running)
        found = self._effective.get(key)
        if found is None:
            if len(self._effective) >= _REMEMBERED:
                self._effective.clear()
            found = self._effective[key] = resolve(nic.declared, domain.declared, host, nic.running)
        return found

    def _judge_nic(self, subject: Subject) -> tuple[Judgement, ...]:
        verdicts = self._verdicts.get(subject)
        if verdicts is None:
            if len(self._verdicts) >= _REMEMBERED:
                self._verdicts.clear()
            verdicts = self._verdicts[subject] = _ask(self._nic_rules, subject)
        return verdicts

    def _judge_domain(self, subject: DomainSubject) -> tuple[Judgement, ...]:
        verdicts = self._domain_verdicts.get(subject)
        if verdicts is None:
            if len(self._domain_verdicts) >= _REMEMBERED:
                self._domain_verdicts.clear()
            verdicts = self._domain_verdicts[subject] = _ask(self._domain_rules, subject)
        return verdicts


class _Tray:
    """Collects what the rules say of one domain, host or file."""

    __slots__ = ("crashed", "findings", "skipped")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.crashed: list[Crashed] = []

    def note(self, verdict: Judgement, ref: NicRef) -> None:
        """Take a verdict that could not be reached."""
        if verdict.needs:
            self.skipped.append(Skipped(verdict.rule.id, ref, verdict.needs))
        elif verdict.error:
            self.crashed.append(Crashed(verdict.rule.id, ref, verdict.error))

    def audited(
        self, target: str, subject: str, owner: str, scope: Literal["host", "config"]
    ) -> Audited:
        """All of it, of something that is not a domain."""
        return Audited(
            target=target,
            subject=subject,
            owner=owner,
            scope=scope,
            findings=tuple(self.findings),
            skipped=tuple(self.skipped),
            crashed=tuple(self.crashed),
        )


def _ask(
    rules: list[LoadedRule], subject: Subject | DomainSubject | HostSubject | ConfigSubject
) -> tuple[Judgement, ...]:
    """Every rule's answer, silent ones left out."""
    verdicts = []
    for rule in rules:
        try:
            if not rule.applies(subject):
                continue
            missing = [need for need in rule.needs if not FACTS[need].known(subject)]
            if missing:
                tell = "; ".join(dict.fromkeys(FACTS[need].tell for need in missing))
                verdicts.append(Judgement(rule, needs=tell))
            elif problems := tuple(rule.check(subject)):
                verdicts.append(Judgement(rule, problems))
        except Exception as error:  # an edge: a rule's crash is reported, never a pass
            verdicts.append(Judgement(rule, error=f"{type(error).__name__}: {error}"))
    return tuple(verdicts)


def _finding(
    rule: LoadedRule, problem: Problem, ref: NicRef, where: Location, owner: str, mark: str
) -> Finding:
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
        mark,
        problem.fix if rule.scope == "config" else _fix(problem, owner),
    )


def _fix(problem: Problem, owner: str) -> str:
    return fix_text(problem.change, owner, problem.fix_for(owner))


def _reworded(finding: Finding, problem: Problem, nic: Nic) -> Finding:
    """A NIC that ``<qemu:commandline>`` adds is changed there, not in an ``<interface>``."""
    if nic.declared.origin != "commandline" or problem.change is None:
        return finding
    hint = problem.fix_for(finding.owner)
    return replace(finding, fix=commandline_text(problem.change, finding.owner, hint))


def _point(nic: Nic, field: str | None, place: Location) -> Location:
    """The NIC's place, narrowed to the child element a field stands in, where it stands there."""
    path = XPATH.get(field or "")
    if path is None or place.xpath is None:
        return place
    child = path.partition("/")[0]
    for name, line in nic.lines:
        if name == child:
            return Location(
                place.target, place.file, line if place.file else None, f"{place.xpath}/{path}"
            )
    return place


def _domain_ref(domain: Domain) -> NicRef:
    return NicRef(domain=domain.name, uuid=domain.uuid)


def _fingerprint(rule: str, domain: Domain, nic: Nic | None) -> str:
    """By UUID and MAC; by file and place in it where there are none."""
    if domain.uuid is not None and (nic is None or nic.mac is not None):
        return digest(rule, domain.uuid, "" if nic is None else _mac(domain, nic))
    place = domain.location if nic is None else nic.location
    owner = f"{place.target}#{domain.name}" if place.file is None else file_key(place.file)
    if place.xpath is not None:
        return digest(rule, owner, place.xpath)
    part = "" if nic is None else nic.mac or nic.alias or f"#{nic.index}"
    return digest(rule, owner, f"{domain.mark}/{part}")


def _mac(domain: Domain, nic: Nic) -> str:
    """The MAC; two NICs of one domain with one MAC are two findings."""
    mac = nic.mac or ""
    twice = sum(other.mac == mac for other in domain.nics) > 1
    return f"{mac}#{nic.index}" if twice else mac
