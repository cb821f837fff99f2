"""Rules x NICs: judge one domain; collect what was found, skipped and crashed.

A rule's verdict depends only on its subject, so verdicts are cached: a fleet has many NICs but few
kinds of them. The cache is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.effective.resolve import Resolver
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.judging.judgement import (
    Auditor,
    FindingCollector,
    Place,
    RuleVerdict,
    ask,
    identity_parts,
)
from vnicaudit.audit.reading.targets import Platforms
from vnicaudit.knowledge.fixes.owners import of_server
from vnicaudit.knowledge.systems import QEMU_DOMAINS
from vnicaudit.model.domain import Domain, DomainConfig, StagedNic
from vnicaudit.model.finding import (
    ALL_BUT_THE_MODEL,
    EVERY_RULE,
    VIRTIO,
    Change,
    Location,
    Skipped,
    name_of,
    rewritten_by,
)
from vnicaudit.model.fix import AlreadyStaged, NothingToEdit, OwnerAdvice
from vnicaudit.model.host import HostConfig
from vnicaudit.model.names import NO_NAMES, FixNames
from vnicaudit.model.nic import NONE, UNKNOWN, Effective, Nic
from vnicaudit.model.report import Audited, DataPath, NicRow, Placed
from vnicaudit.model.rule import DomainSubject, Problem, Subject

if TYPE_CHECKING:
    from vnicaudit.model.fix import Fix
    from vnicaudit.model.nic import NicConfig, RunningNic

# A domain's NIC -> its row of ``vnicaudit.nics/1``.


def nic_row(domain: Domain, nic: Nic) -> NicRow:
    """One NIC, declared and effective. Raises ValueError when it was not resolved before."""
    effective = nic.effective
    if effective is None:
        raise ValueError(f"NIC {nic.index} of {domain.name!r} has not been resolved")
    return NicRow(
        domain=domain.name,
        uuid=domain.uuid,
        index=nic.index,
        mac=nic.known_mac,
        type=nic.declared.type,
        actual_type=nic.declared.actual_type,
        origin=nic.declared.origin,
        owner=name_of(domain.declared.owner),
        arch=domain.declared.arch,
        machine=domain.declared.machine,
        vcpus=domain.declared.vcpus,
        active=None if domain.state is None else domain.state.active,
        target_dev=nic.target_dev,
        model=effective.model,
        vhost=effective.vhost,
        queues=effective.queues,
        rx_queue_size=effective.rx_queue_size,
        tx_queue_size=effective.tx_queue_size,
        starts=effective.starts,
        location=nic.location,
        wiring=nic.wiring or _macvtap(domain, nic),
        source=nic.network if domain.declared.is_server else nic.source,
    )


def path_of(nic: NicRow | Effective) -> DataPath:
    """How packets of a NIC travel, from its effective values."""
    if not nic.starts:
        return "does not start"
    if nic.model.state == NONE:
        return "fast"
    if nic.model.state == UNKNOWN:
        return "unknown"
    if nic.model.effective not in VIRTIO:
        return "slow"
    if nic.vhost.state == UNKNOWN:
        return "unknown"
    return "fast" if nic.vhost.state == NONE or nic.vhost.effective else "slow"


def _macvtap(domain: Domain, nic: Nic) -> str | None:
    """``direct/bridge``; without ``mode=`` libvirt writes vepa (measured with 9.0)."""
    declared = nic.declared
    if declared.type != "direct" or not domain.declared.is_definition:
        return None
    unknown = "source_mode" in declared.unseen or declared.origin != "interface"
    return None if unknown else f"direct/{declared.source_mode or 'vepa'}"


# Verdicts on domain XML that is a template: its literal values are judged.


_MODEL_HANGS_ON = frozenset({
    "*", "type", "model", "address_type", "address_bus", "acpi", "teaming", "source_mode",
})  # fmt: skip
"""Fields on which the model depends: if one of them is unknown, the model is not judged either."""
_SHOWN = {"*": "elements of it", "host_off": "offloads", "guest_off": "offloads"}


def of_the_model(verdicts: Iterable[RuleVerdict], nic: Nic) -> tuple[RuleVerdict, ...]:
    """Verdicts on the model of a NIC whose other settings a template fills in, and crashed rules;
    empty if the model itself depends on the template. All other problems are dropped, as they may
    depend on the filled-in values."""
    if _MODEL_HANGS_ON & frozenset(nic.declared.unseen):
        return ()
    left = []
    for verdict in verdicts:
        problems = tuple(problem for problem in verdict.problems if problem.field == "model")
        if problems or verdict.error:
            left.append(replace(verdict, problems=problems))
    return tuple(left)


def not_filled_in(domain: Domain) -> Iterator[Skipped]:
    """The skipped rules for settings that a template leaves open."""
    for nic in domain.nics:
        if nic.declared.unseen:
            names = dict.fromkeys(_SHOWN.get(name, name) for name in nic.declared.unseen)
            none = _MODEL_HANGS_ON & frozenset(nic.declared.unseen)
            rule = EVERY_RULE if none else ALL_BUT_THE_MODEL
            yield Skipped(rule, domain.ref_of(nic), _needs(", ".join(names)))
    if "inserted" in domain.declared.unseen:
        besides = "which other NICs there are"
        if domain.declared.is_command_line:
            needs = f"how the shell expands {domain.template!r}: {besides}"
        else:
            needs = _needs(besides)
        yield Skipped(EVERY_RULE, domain.ref, needs)


def _needs(what: str) -> str:
    return f"the rendered definition: here a template decides {what}"


# Fixes without changes that the persistent definition already has, so that nobody edits it twice.
#
# Rules judge the running NIC. If its persistent definition differs, that may already have the
# change, or may have nothing to change.


def without_edits_made(
    verdicts: tuple[RuleVerdict, ...],
    staged: StagedNic,
    later: tuple[RuleVerdict, ...],
) -> tuple[RuleVerdict, ...]:
    """The verdicts on a running NIC without the changes that its persistent definition does not
    need. ``later``: the verdicts of the same rules on the NIC as it is there."""
    return tuple(
        replace(
            verdict,
            problems=tuple(
                _reduced(problem, staged, later, verdict.rule.id) for problem in verdict.problems
            ),
        )
        for verdict in verdicts
    )


def at_the_next_start(subject: Subject, staged: StagedNic, resolve: Resolver) -> Subject | None:
    """The NIC of the persistent definition, not run by any QEMU yet; None if it is not there."""
    if staged.later is None:
        return None
    effective = resolve(staged.later, subject.domain, subject.host, None)
    return replace(subject, nic=staged.later, effective=effective, running=None, staged=None)


def _reduced(
    problem: Problem, staged: StagedNic, later: tuple[RuleVerdict, ...], rule_id: str
) -> Problem:
    change = problem.change
    if change is None:
        return problem
    if staged.gone:
        return replace(problem, change=None, fix=NothingToEdit())
    new = next((new for field, _running, new in staged.fields if field == change.field), None)
    if new is None or _still_wanted(change, later, rule_id):
        return problem
    return replace(problem, change=None, fix=AlreadyStaged(change.field, new or None))


def _still_wanted(change: Change, later: tuple[RuleVerdict, ...], rule_id: str) -> bool:
    """True if the persistent definition needs the change too: the rule reacts to it (found, skipped
    or crashed), or another one proposes a change of the same field."""
    return any(
        verdict.rule.id == rule_id
        or any(
            problem.change is not None and problem.change.field == change.field
            for problem in verdict.problems
        )
        for verdict in later
    )


_REMEMBERED = 8192


class DomainAuditor(Auditor):
    """Judges domains by a fixed set of rules. Not shared between threads."""

    def __init__(
        self,
        rule_ids: Iterable[str],
        platforms: Platforms,
        catalogue: Catalogue | None = None,
        *,
        with_rows: bool = False,
    ) -> None:
        """``with_rows``: judgements include the domain's NICs, declared and effective."""
        super().__init__(rule_ids, platforms.wordings, catalogue)
        self._with_rows = with_rows
        self._platforms = platforms
        self._judge_nic = lru_cache(_REMEMBERED)(self._ask_nic)
        self._judge_domain = lru_cache(_REMEMBERED)(self._ask_domain)
        self._resolved = lru_cache(_REMEMBERED)(self._resolve)

    def load(self) -> None:
        """Import the rules that judge definitions, which are otherwise imported at first use."""
        self._rules("nic").of()
        self._rules("domain").of()

    def audit_domain(self, domain: Domain, host: HostConfig, target: str) -> Audited:
        """Judge every NIC of a domain, then the domain."""
        named = _names_for_fix(domain)
        collector = FindingCollector(self._wordings, domain.declared.owner, named)
        if domain.unjudged:
            collector.skipped.append(Skipped(EVERY_RULE, domain.ref, domain.unjudged))
        elif domain.declared.type in QEMU_DOMAINS:
            self._judge_all(domain, host, collector)
        elif domain.nics:
            reason = f"a QEMU or KVM domain (this one is type='{domain.declared.type}')"
            collector.skipped.append(Skipped(EVERY_RULE, domain.ref, reason))
        return Audited(
            target,
            domain.name,
            domain.uuid,
            domain.declared.owner,
            "interface" if domain.declared.is_lone_nic else "domain",
            len(domain.nics),
            tuple(collector.findings),
            tuple(collector.skipped),
            tuple(collector.crashed),
            server="" if domain.cloud is None else domain.cloud.name,
            placed=_placed(domain),
            fix_names=named,
            paths=tuple(self._path(nic, domain, host) for nic in domain.nics),
            rows=self._rows(domain, host) if self._with_rows else (),
            template_key=domain.template_key,
        )

    def _rows(self, domain: Domain, host: HostConfig) -> tuple[NicRow, ...]:
        resolved = (
            replace(nic, effective=self.effective(nic, domain, host)) for nic in domain.nics
        )
        return tuple(nic_row(domain, nic) for nic in resolved)

    def _path(self, nic: Nic, domain: Domain, host: HostConfig) -> DataPath:
        """How packets of a NIC travel: unknown where it was not judged, or only its model was."""
        hidden = domain.template and nic.declared.unseen
        if (
            domain.unjudged
            or domain.declared.type not in QEMU_DOMAINS
            or (hidden and _MODEL_HANGS_ON & frozenset(hidden))
        ):
            return "unknown"
        effective = self.effective(nic, domain, host)
        if hidden and effective.model.effective in VIRTIO:
            return "unknown"
        return path_of(effective)

    def _judge_all(self, domain: Domain, host: HostConfig, collector: FindingCollector) -> None:
        subjects = self.subjects(domain, host)
        for nic, subject in zip(domain.nics, subjects, strict=True):
            if verdicts := self._judge_nic(subject):
                if domain.template and nic.declared.unseen:
                    verdicts = of_the_model(verdicts, nic)
                collector.take(
                    verdicts,
                    domain.ref_of(nic),
                    partial(_place_in_nic, domain, nic, self._platforms),
                    advice_of=partial(_advice, domain),
                    in_arguments=nic.declared.origin == "commandline",
                )
        unfilled = list(not_filled_in(domain)) if domain.template else []
        collector.skipped += unfilled
        coming = domain.pending.coming
        asked = (subjects or coming) and not (unfilled or domain.declared.is_lone_nic)
        if asked and self._rules("domain").of(domain.declared.kind):
            whole = DomainSubject(subjects, domain.declared, host, domain.state, coming)
            collector.take(self._judge_domain(whole), domain.ref, partial(_place_in_domain, domain))
        if domain.guest is not None:
            verdicts = ask(self._rules("guest").of(), domain.guest)
            collector.take(verdicts, domain.ref, partial(_place_in_guest, domain), is_whole=True)
            if domain.guest.is_doubtful:
                collector.doubt_nics()

    def subjects(self, domain: Domain, host: HostConfig) -> tuple[Subject, ...]:
        """The domain's NICs as rules see them, in order."""
        # without its MAC, as a subject has no identity
        staged = {change.mac: replace(change, mac=None) for change in domain.pending.staged}
        state = domain.state
        subjects = [
            Subject(
                nic.declared,
                self.effective(nic, domain, host),
                domain.declared,
                host,
                nic.running,
                state,
                staged.get(nic.mac) if staged else None,
                nic.path,
            )
            for nic in domain.nics
        ]
        return tuple(subjects)

    def effective(self, nic: Nic, domain: Domain, host: HostConfig) -> Effective:
        """The effective facts of this NIC, cached by everything they depend on."""
        return self._resolved(nic.declared, domain.declared, host, nic.running)

    def _resolve(
        self, nic: NicConfig, domain: DomainConfig, host: HostConfig, running: RunningNic | None
    ) -> Effective:
        return self._platforms.resolver(domain)(nic, domain, host, running)

    def _ask_nic(self, subject: Subject) -> tuple[RuleVerdict, ...]:
        rules = self._rules("nic").of(subject.domain.kind)
        verdicts = ask(rules, subject)
        staged = subject.staged
        if staged is None or rewritten_by(subject.domain.owner):
            return verdicts
        resolve = self._platforms.resolver(subject.domain)
        later = at_the_next_start(subject, staged, resolve)
        return without_edits_made(verdicts, staged, () if later is None else ask(rules, later))

    def _ask_domain(self, subject: DomainSubject) -> tuple[RuleVerdict, ...]:
        return ask(self._rules("domain").of(subject.domain.kind), subject)


def _place_in_nic(domain: Domain, nic: Nic, platforms: Platforms, field: str | None) -> Place:
    path = None if field is None else platforms.place_of(field, domain.declared)
    where = _nic_place(nic, field, path, nic.location)
    return domain.ref_of(nic), where, identity_parts(domain, nic)


def _place_in_domain(domain: Domain, field: str | None) -> Place:
    return domain.ref, _field_place(domain, field), identity_parts(domain, None)


def _place_in_guest(domain: Domain, field: str | None) -> Place:
    """The place of a problem with what a cluster says of a VM. Its field begins with the name of
    the interface that it concerns (``default/model``); without a slash it concerns the VM."""
    name, slash, rest = (field or "").partition("/")
    nic = next((nic for nic in domain.nics if slash and nic.alias == name), None)
    if nic is None:
        return _place_in_domain(domain, field)
    where = _nic_place(nic, rest, None, nic.location)
    return domain.ref_of(nic), where, identity_parts(domain, nic)


def _advice(domain: Domain, problem: Problem) -> str | Fix:
    """The advice on a NIC, with the object whose template describes it, or the VM to restart."""
    guest, advice = domain.guest, problem.fix
    if guest is not None and advice == OwnerAdvice("restart"):
        from vnicaudit.knowledge.kube_needs import restart  # as below

        return restart(guest)
    maker = None if guest is None else guest.maker
    if maker is None or not isinstance(advice, str):
        return advice
    from vnicaudit.knowledge.kube_owners import route  # no file of manifests needs it

    return f"{advice} {route(maker)}".strip()


def _names_for_fix(domain: Domain) -> FixNames:
    """Names that a fix can use: the kind of a manifest, or the server, if its cloud was read."""
    manifest, cloud = domain.declared.manifest, domain.cloud
    if manifest is not None:
        if (guest := domain.guest) is None:
            return FixNames(manifest_kind=manifest.kind)
        kind = manifest.kind if guest.maker is None else guest.maker.name
        return FixNames(manifest_kind=kind, run_strategy=guest.run_strategy)
    return NO_NAMES if cloud is None else of_server(cloud.target, cloud.id, domain.declared.server)


def _nic_place(nic: Nic, field: str | None, path: str | None, place: Location) -> Location:
    """The NIC's place, narrowed to the child element (``path``) of a field, if it exists; in a
    manifest to the value, or to where it would be. For names that are not fields of a NIC, such as
    those in refusals, the path is a place in it (``driver/@name``)."""
    for name, where in nic.places:
        if name == field:
            return where
    if path is None or place.xpath is None:
        return place
    child = path.partition("/")[0]
    for name, line in nic.lines:
        if name == child:
            return Location(
                place.target, place.file, line if place.file else None, f"{place.xpath}/{path}"
            )
    return place


def _field_place(domain: Domain, field: str | None) -> Location:
    """The place where a field of the whole domain is set, or would be; only for manifests. For a
    server it is the server itself."""
    places = domain.nics[0].places if domain.nics else ()
    return dict(places).get(field or "", domain.location)


def _placed(domain: Domain) -> Placed | None:
    """Image, flavor, project and host of a server, by which reports can be grouped; None for a
    guest outside a cloud."""
    ref = domain.cloud
    if ref is None:
        return None
    kept = domain.declared.server
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
