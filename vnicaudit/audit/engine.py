"""Rules x NICs: judge one domain (or host) and say what was found, skipped and crashed.

A rule's verdict depends on nothing but its subject, so it is remembered: a fleet has many NICs
and few kinds of them. What is remembered is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from vnicaudit.audit.catalogue import LoadedRule, RuleSet
from vnicaudit.audit.effective import QEMU_DOMAINS, resolve
from vnicaudit.audit.fingerprint import digest, domain_mark
from vnicaudit.audit.fixes import commandline_text, fix_text, manifest_text
from vnicaudit.audit.fixes_nova import naming_server, server_text
from vnicaudit.audit.judgement import Judgement, Tray, ask, finding_of
from vnicaudit.audit.of_templates import not_filled_in, of_the_model
from vnicaudit.audit.staged import at_the_next_start, without_edits_made
from vnicaudit.model.domain import REWRITTEN_BY, Domain
from vnicaudit.model.effective import Effective
from vnicaudit.model.finding import EVERY_RULE, Finding, NicRef, Skipped
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import Audited, Placed
from vnicaudit.model.rule import DomainSubject, HostSubject, Problem, Subject
from vnicaudit.platforms.domain_xml.fields import XPATH

_REMEMBERED = 8192


class Engine:
    """Judges with a fixed set of rules. Not shared between threads."""

    def __init__(self, rule_ids: Iterable[str]) -> None:
        self._rules = RuleSet(rule_ids)
        self._verdicts: dict[Subject, tuple[Judgement, ...]] = {}
        self._domain_verdicts: dict[DomainSubject, tuple[Judgement, ...]] = {}
        self._effective: dict[tuple[object, ...], Effective] = {}

    def audit_domain(self, domain: Domain, host: HostConfig, target: str) -> Audited:
        """Judge every NIC of a domain, then the domain."""
        tray = Tray()
        if domain.unjudged:
            tray.skipped.append(Skipped(EVERY_RULE, _domain_ref(domain), domain.unjudged))
        elif domain.declared.type in QEMU_DOMAINS:
            self._judge_all(domain, host, tray)
        elif domain.nics:
            reason = f"a QEMU or KVM domain (this one is type='{domain.declared.type}')"
            tray.skipped.append(Skipped(EVERY_RULE, _domain_ref(domain), reason))
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
            server="" if domain.cloud is None else domain.cloud.name,
            placed=_placed(domain),
        )

    def _judge_all(self, domain: Domain, host: HostConfig, tray: Tray) -> None:
        subjects = self.subjects(domain, host)
        for nic, subject in zip(domain.nics, subjects, strict=True):
            if verdicts := self._judge_nic(subject):
                if domain.template and nic.declared.unseen:
                    verdicts = of_the_model(verdicts, nic)
                _take_nic(verdicts, nic, domain, tray)
        unfilled = list(not_filled_in(domain)) if domain.template else []
        tray.skipped += unfilled
        asked = (subjects or domain.coming) and not unfilled
        if asked and self._rules.of("domain", domain.declared.form):
            whole = DomainSubject(subjects, domain.declared, host, domain.state, domain.coming)
            _take_domain(self._judge_domain(whole), domain, tray)

    def audit_host(self, host: Host, uses: frozenset[str], target: str) -> Audited:
        """Judge a host by itself. ``uses``: see :class:`HostSubject`."""
        tray = Tray()
        for verdict in ask(self._rules.of("host"), HostSubject(host.declared, uses)):
            mark = digest(verdict.rule.id, host.name, "")
            for problem in verdict.problems:
                tray.findings.append(
                    _finding(verdict.rule, problem, NicRef(), Location(target), "host", mark)
                )
            tray.note(verdict, NicRef())
        return tray.audited(target, host.name, "host", "host")

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
                nic.path,
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
            verdicts = self._verdicts[subject] = self._ask_nic(subject)
        return verdicts

    def _ask_nic(self, subject: Subject) -> tuple[Judgement, ...]:
        rules = self._rules.of("nic", subject.domain.form)
        verdicts = ask(rules, subject)
        staged = subject.staged
        if staged is None or subject.domain.owner in REWRITTEN_BY:
            return verdicts
        later = at_the_next_start(subject, staged)
        return without_edits_made(verdicts, staged, () if later is None else ask(rules, later))

    def _judge_domain(self, subject: DomainSubject) -> tuple[Judgement, ...]:
        verdicts = self._domain_verdicts.get(subject)
        if verdicts is None:
            if len(self._domain_verdicts) >= _REMEMBERED:
                self._domain_verdicts.clear()
            verdicts = self._domain_verdicts[subject] = ask(
                self._rules.of("domain", subject.domain.form), subject
            )
        return verdicts


def _take_nic(verdicts: Iterable[Judgement], nic: Nic, domain: Domain, tray: Tray) -> None:
    """Take what was said of one NIC."""
    ref = NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)
    owner = domain.declared.owner
    for verdict in verdicts:
        for problem in verdict.problems:
            mark = domain_mark(verdict.rule.id, domain, nic)
            where = _point(nic, problem.field, nic.location)
            finding = _finding(verdict.rule, problem, ref, where, owner, mark)
            tray.findings.append(_reworded(finding, problem, nic, domain))
        tray.note(verdict, ref)


def _take_domain(verdicts: Iterable[Judgement], domain: Domain, tray: Tray) -> None:
    """Take what was said of a domain as a whole."""
    ref, owner = _domain_ref(domain), domain.declared.owner
    for verdict in verdicts:
        mark = domain_mark(verdict.rule.id, domain, None)
        for problem in verdict.problems:
            where = _place_of(domain, problem.field)
            finding = _finding(verdict.rule, problem, ref, where, owner, mark)
            tray.findings.append(_for_owner(finding, problem, domain))
        tray.note(verdict, ref)


def _finding(
    rule: LoadedRule, problem: Problem, ref: NicRef, where: Location, owner: str, mark: str
) -> Finding:
    fix = fix_text(problem.change, owner, problem.fix_for(owner))
    return finding_of(rule, problem, ref, where, owner, mark, fix)


def _reworded(finding: Finding, problem: Problem, nic: Nic, domain: Domain) -> Finding:
    """A NIC that ``<qemu:commandline>`` adds is changed there, not in an ``<interface>``."""
    if nic.declared.origin != "commandline" or problem.change is None:
        return _for_owner(finding, problem, domain)
    hint = problem.fix_for(finding.owner)
    return replace(finding, fix=commandline_text(problem.change, finding.owner, hint))


def _for_owner(finding: Finding, problem: Problem, domain: Domain) -> Finding:
    """One of a manifest is changed at the place its kind has for it; a server of which its cloud
    was read, by commands that name it."""
    manifest = domain.declared.manifest
    if manifest is not None:
        return replace(finding, fix=manifest_text(finding.fix, manifest.kind))
    if domain.cloud is None:
        return finding
    fix = finding.fix
    if problem.change is not None:
        fix = server_text(problem.change, domain, problem.fix_for(finding.owner))
    return replace(finding, fix=naming_server(fix, domain))


def _point(nic: Nic, field: str | None, place: Location) -> Location:
    """The NIC's place, narrowed to the child element a field stands in, where it stands there; in
    a manifest to the value, or to where it would stand. What is no field of a NIC is a place in
    it (``driver/@name``), as refusals have them."""
    for name, where in nic.places:
        if name == field:
            return where
    if field is None or place.xpath is None:
        return place
    path = XPATH.get(field, field)
    child = path.partition("/")[0]
    for name, line in nic.lines:
        if name == child:
            return Location(
                place.target, place.file, line if place.file else None, f"{place.xpath}/{path}"
            )
    return place


def _place_of(domain: Domain, field: str | None) -> Location:
    """Where a field of the whole domain is set, or would be; of manifests only. A server's is the
    server itself."""
    places = domain.nics[0].places if domain.nics else ()
    return dict(places).get(field or "", domain.location)


def _domain_ref(domain: Domain) -> NicRef:
    return NicRef(domain=domain.name, uuid=domain.uuid)


def _placed(domain: Domain) -> Placed | None:
    """Of a server, what reports may be grouped by."""
    ref, kept = domain.cloud, domain.declared.server
    if ref is None:
        return None
    image = None if kept is None else kept.image
    flavor = None if kept is None else kept.flavor
    return Placed(
        image="" if image is None else image.name,
        image_id=ref.image or (image.id or "" if image is not None else ""),
        flavor="" if flavor is None else flavor.name,
        project=ref.project_name,
        project_id=ref.project,
        host=ref.host or "",
    )
