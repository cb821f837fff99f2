"""The work on each item that is read: judging it, or resolving its NICs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from vnicaudit.audit.accepting.baseline import NO_FILTER, FindingFilter, is_known
from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import Catalogue, shipped_catalogue
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.judging.macs import EncodedNic, MacAuditor, MacTable
from vnicaudit.audit.reading.targets import Platforms
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Description
from vnicaudit.model.host import NO_HOST, HostConfig, SiteNode
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import Audited

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.baseline import Baseline
    from vnicaudit.audit.judging.hosts import HostAuditor
    from vnicaudit.audit.judging.site import SiteAuditor
    from vnicaudit.model.finding import Finding
    from vnicaudit.model.host import Version, Workload
    from vnicaudit.model.nova import Release
    from vnicaudit.model.report import Explained
    from vnicaudit.model.rule import HostSubject

Product: TypeAlias = "Audited | Domain | Explained"
"""The result of the work on one item."""


_FEWEST_NODES = 2
"""Number of compute nodes below which there is nothing to compare."""


class Assumptions(msgspec.Struct, frozen=True):
    """Versions to judge by instead of the real ones (``--assume-qemu``, ``--assume-libvirt``), and
    the release of Nova (``--nova-release``), which no file names."""

    qemu: Version | None = None
    libvirt: Version | None = None
    nova: Release | None = None
    workload: Workload | None = None
    """What the hosts' network is used for (``--workload``)."""

    def configured(self, config: NovaConfig) -> NovaConfig:
        """A configuration as that release of Nova reads it."""
        if self.nova is None:
            return config
        from vnicaudit.knowledge.nova_conf.resolve import as_of

        return as_of(config, self.nova)

    def interpreted(self, item: Description) -> Description:
        """A description as that release of Nova interprets it: a configuration, or an image that
        does not come from a live cloud, which tells its release."""
        if self.nova is None:
            return item
        if isinstance(item, NovaConfig):
            return self.configured(item)

        if isinstance(item, Image) and item.nova is None:
            return msgspec.structs.replace(item, nova=self.nova.number)
        return item

    def node(self, item: Description) -> SiteNode | None:
        """The compute node of a configuration; None if it belongs to something else."""
        if not isinstance(item, NovaConfig):
            return None

        from vnicaudit.audit.judging.site import node_of

        return node_of(self.configured(item))

    def host_of(self, domain: Domain, host: HostConfig | None) -> HostConfig:
        """The host (None: unknown) for judging one of its domains: with the versions that run this
        very domain, where they are known (a guest keeps the QEMU it was started with until it is
        powered off), overridden by these assumptions."""
        host = host or NO_HOST
        own, libvirts = domain.qemu_version, domain.libvirt_version
        return self.applied(_with_versions(host, own, libvirts, assumed=host.assumed))

    def applied(self, host: HostConfig) -> HostConfig:
        """The host with these versions instead of its own."""
        return _with_versions(host, self.qemu, self.libvirt, assumed=True)


class Work:
    """The work on the stream of items: here, to read them and nothing else."""

    def __init__(self, assumptions: Assumptions, platforms: Platforms) -> None:
        self._assumptions = assumptions
        self.platforms = platforms

    def load(self) -> None:
        """Import the modules for work on domains, which are otherwise imported at first use."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Product:
        """Work on one domain; ``host`` None: nothing is known of its host."""
        del host, target
        return msgspec.structs.replace(domain, nics=())

    def description(self, item: Description, target: str) -> Product | None:
        """Work on a configuration, an image…; None if there is nothing to do."""

    def host(self, name: str, host: HostSubject, target: str) -> Product | None:
        """Work on the host with that name; None if there is nothing to do."""

    def node(self, item: Description, *, joins: bool) -> SiteNode | None:
        """The part of a configuration to compare with others, or to join with the servers of a
        cloud (``joins``); None if neither is done."""
        return self._assumptions.node(item) if joins else None

    def site(self, nodes: Iterable[SiteNode]) -> Iterable[Product]:
        """Compare the kept configurations, when everything has been read."""
        del nodes
        return ()

    def nics_to_compare(self, domain: Domain, target: str, machine: str = "") -> list[EncodedNic]:
        """Return the records by which a domain's NICs are compared with all others."""
        del domain, target, machine
        return []

    def shared_macs(self, table: MacTable) -> Iterable[Product]:
        """Judge NICs that share a MAC address, when everything has been read."""
        del table
        return ()

    def usage(self) -> Usage:
        """Return the uses of the settings' suppressions so far."""
        return Usage()

    def in_baseline(self, audited: Audited) -> set[str]:
        """Return the fingerprints of the findings that are in the baseline, also of those that are
        now more severe."""
        del audited
        return set()


class AuditWork(Work):
    """Judge by rules, then filter by suppressions and baseline."""

    def __init__(
        self,
        rule_ids: Iterable[str],
        assumptions: Assumptions,
        suppressor: Suppressor,
        baseline: Baseline,
        platforms: Platforms,
        catalogue: Catalogue | None = None,
        *,
        for_report: bool = False,
        with_rows: bool = False,
        finding_filter: FindingFilter = NO_FILTER,
    ) -> None:
        """``for_report``: findings have the severities of the settings, and are filtered by
        ``finding_filter``. Decisions on a change need the rules' own severities and every finding
        instead: a setting must hide no danger from them. ``with_rows``: each domain comes with its
        NICs, declared and effective."""
        self._with_rows = with_rows
        self._finding_filter = finding_filter
        self._for_report = for_report
        self._rule_ids = tuple(rule_ids)
        self.catalogue = catalogue or shipped_catalogue()
        self._description_auditor = DescriptionAuditor(
            self._rule_ids, platforms.wordings, self.catalogue
        )
        super().__init__(assumptions, platforms)
        self.suppressor = suppressor
        self._baseline = baseline
        self._regrades = for_report and self.catalogue.regrades

    @cached_property
    def _auditor(self) -> DomainAuditor:
        return DomainAuditor(
            self._rule_ids, self.platforms, self.catalogue, with_rows=self._with_rows
        )

    @cached_property
    def _mac_auditor(self) -> MacAuditor:
        return MacAuditor(self._rule_ids, self.platforms.wordings, self.catalogue)

    def load(self) -> None:
        """Import the rules that judge definitions, and the usual words of fixes."""
        self._auditor.load()
        self.platforms.wordings.of("libvirt")

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Audited:
        """Findings of one domain."""
        judged_host = self._assumptions.host_of(domain, host)
        return self._filtered(self._auditor.audit_domain(domain, judged_host, target), domain)

    def description(self, item: Description, target: str) -> Audited:
        """Findings of a configuration, an image, a flavor or a preference."""
        item = self._assumptions.interpreted(item)
        return self._filtered(self._description_auditor.audit(item, target), item)

    def host(self, name: str, host: HostSubject, target: str) -> Audited:
        """Findings of one host and its links."""
        assumed, workload = self._assumptions, host.workload or self._assumptions.workload
        judged = msgspec.structs.replace(host, host=assumed.applied(host.host), workload=workload)
        return self._filtered(self._host_auditor.audit(name, judged, target), None)

    @cached_property
    def _host_auditor(self) -> HostAuditor:
        from vnicaudit.audit.judging.hosts import HostAuditor

        return HostAuditor(self._rule_ids, self.platforms.wordings, self.catalogue)

    @cached_property
    def _site_auditor(self) -> SiteAuditor:
        from vnicaudit.audit.judging.site import SiteAuditor

        return SiteAuditor(self._rule_ids, self.platforms.wordings, self.catalogue)

    @cached_property
    def _compares_nodes(self) -> bool:
        """True if a selected rule compares compute nodes with each other."""
        return self.catalogue.has_scope("site", self._rule_ids)

    def node(self, item: Description, *, joins: bool) -> SiteNode | None:
        """The comparable part of a configuration; None if it is neither compared nor joined."""
        if not isinstance(item, NovaConfig) or not (joins or self._compares_nodes):
            return None
        return self._assumptions.node(item)

    def site(self, nodes: Iterable[SiteNode]) -> Iterator[Audited]:
        """Findings on compute nodes that differ."""
        nodes = tuple(nodes)
        if len(nodes) < _FEWEST_NODES or not self._compares_nodes:
            return

        from vnicaudit.audit.judging.site import differing_nodes

        for node, differences in differing_nodes(nodes):
            yield self._filtered(self._site_auditor.audit(node, differences), None)

    def nics_to_compare(self, domain: Domain, target: str, machine: str = "") -> list[EncodedNic]:
        """The records that identify NICs with the same MAC address, if a selected rule compares
        them."""
        return self._mac_auditor.nics_to_compare(domain, target, machine)

    def shared_macs(self, table: MacTable) -> Iterator[Audited]:
        """Findings on NICs that share a MAC address."""
        for subject in table.subjects():
            yield self._filtered(self._mac_auditor.audit(subject), None)

    def usage(self) -> Usage:
        """The uses of the settings' suppressions in this process."""
        return self.suppressor.settings.usage

    def _filtered(self, audited: Audited, item: Domain | Description | None) -> Audited:
        audited = self._without_known(self.suppressor.apply(audited, item))
        audited = self._regraded(audited) if self._regrades else audited
        is_on = self._for_report and self._finding_filter
        return self._finding_filter.apply(audited) if is_on else audited

    def selects(self, finding: Finding) -> bool:
        """True if a finding may be fixed. Findings that the filter hides are still seen, so that no
        fix causes one of them, but are not fixed themselves."""
        return self._finding_filter.keeps(self._graded(finding))

    def in_baseline(self, audited: Audited) -> set[str]:
        """Return the fingerprints of the findings that are in the baseline, also of those that are
        now more severe."""
        seen = (*audited.baselined, *audited.findings) if self._baseline else ()
        return {one.fingerprint for one in seen if one.fingerprint in self._baseline}

    def _without_known(self, audited: Audited) -> Audited:
        if not self._baseline or not audited.findings:
            return audited

        new: list[Finding] = []
        known: list[Finding] = []
        for finding in map(self._graded, audited.findings):
            (known if is_known(finding, self._baseline) else new).append(finding)
        if not known:
            return audited
        return msgspec.structs.replace(audited, findings=tuple(new), baselined=tuple(known))

    def _regraded(self, audited: Audited) -> Audited:
        findings = tuple(map(self._graded, audited.findings))
        suppressed = tuple(
            msgspec.structs.replace(one, finding=self._graded(one.finding))
            for one in audited.suppressed
        )
        if findings == audited.findings and suppressed == audited.suppressed:
            return audited
        return msgspec.structs.replace(audited, findings=findings, suppressed=suppressed)

    def _graded(self, finding: Finding) -> Finding:
        severity = self.catalogue.severity(finding.rule)
        if severity is None or severity == finding.severity:
            return finding
        return msgspec.structs.replace(finding, severity=severity)


def _with_versions(
    host: HostConfig, qemu: Version | None, libvirt: Version | None, *, assumed: bool
) -> HostConfig:
    if qemu is None and libvirt is None:
        return host
    return msgspec.structs.replace(
        host,
        qemu_version=qemu or host.qemu_version,
        libvirt_version=libvirt or host.libvirt_version,
        assumed=assumed,
    )


class NicsWork(Work):
    """Resolve the effective settings of every NIC."""

    def __init__(self, assumptions: Assumptions, platforms: Platforms) -> None:
        super().__init__(assumptions, platforms)
        self._auditor = DomainAuditor((), platforms)

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Domain:
        """The domain, each NIC with its effective facts."""
        del target
        judged_host = self._assumptions.host_of(domain, host)
        nics = tuple(
            msgspec.structs.replace(
                nic, effective=self._auditor.effective(nic, domain, judged_host)
            )
            for nic in domain.nics
        )
        return msgspec.structs.replace(domain, nics=nics)
