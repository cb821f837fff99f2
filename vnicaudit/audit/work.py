"""What is done with each thing that was read: judge it, or resolve its NICs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from vnicaudit.audit.descriptions import DescriptionJudge
from vnicaudit.audit.macs import MacJudge, MacTable
from vnicaudit.audit.macs import seen as nics_seen
from vnicaudit.audit.suppressions import Suppressor, Usage
from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.nova_options import Release
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import Audited
from vnicaudit.model.site import Node
from vnicaudit.model.version import Version

if TYPE_CHECKING:
    from vnicaudit.audit.baseline import Baseline
    from vnicaudit.audit.engine import Engine
    from vnicaudit.audit.site import SiteJudge

Product = Audited | Domain


class Assumptions(msgspec.Struct, frozen=True):
    """Versions to judge by instead of the real ones (``--assume-qemu``, ``--assume-libvirt``), and
    the release of Nova (``--nova-release``), which no file names."""

    qemu: Version | None = None
    libvirt: Version | None = None
    nova: Release | None = None

    def configured(self, config: NovaConfig) -> NovaConfig:
        """A configuration as that release of Nova reads it."""
        if self.nova is None:
            return config
        from vnicaudit.platforms.nova_conf.resolve import as_of

        return as_of(config, self.nova)

    def made_for(self, image: Image) -> Image:
        """An image as that release of Nova takes it, where it is of no live cloud, which tells."""
        if self.nova is None or image.nova is not None:
            return image
        return msgspec.structs.replace(image, nova=self.nova.number)

    def node(self, item: Description) -> Node | None:
        """What is kept of a compute node's configuration; None where it is of something else."""
        if not isinstance(item, NovaConfig):
            return None
        from vnicaudit.audit.site import node_of  # loaded when there is a nova.conf

        return node_of(self.configured(item))

    def seen(self, domain: Domain, host: HostConfig) -> HostConfig:
        """The host as one of its domains is judged by: with the versions that run this very
        domain, where they are known, and these assumptions over all."""
        return self.applied(_versions_of(domain, host))

    def applied(self, host: HostConfig) -> HostConfig:
        """The host as if it had these versions."""
        if self.qemu is None and self.libvirt is None:
            return host
        return msgspec.structs.replace(
            host,
            qemu_version=self.qemu or host.qemu_version,
            libvirt_version=self.libvirt or host.libvirt_version,
            assumed=True,
        )


class Work(Protocol):
    """One kind of work over the stream of things read."""

    products: type[Audited] | type[Domain]

    def domain(self, domain: Domain, host: HostConfig, target: str) -> Product:
        """Do it for one domain."""

    def description(self, item: Description, target: str) -> Product | None:
        """Do it for a configuration, an image…, where there is something to do."""

    def host(self, host: Host, uses: frozenset[str], target: str) -> Product | None:
        """Do it for one host, where there is something to do."""

    def node(self, item: Description, *, joins: bool) -> Node | None:
        """What is kept of a configuration, to compare it with others where they are compared, or
        to be joined with the servers of a cloud (``joins``)."""

    def site(self, nodes: Iterable[Node]) -> Iterator[Product]:
        """Compare what was kept, when all has been read."""

    def compared(self, domain: Domain, target: str) -> tuple[NicSeen, ...]:
        """What of a domain's NICs is to be compared with those of all others."""

    def shared(self, table: MacTable) -> Iterator[Product]:
        """Judge those that share a MAC address, when all has been read."""

    def usage(self) -> Usage:
        """What is known of the settings' suppressions so far."""


class AuditWork:
    """Judge by rules, then filter by suppressions and baseline."""

    products: type[Audited] | type[Domain] = Audited

    def __init__(
        self,
        rule_ids: Iterable[str],
        assumptions: Assumptions,
        suppressor: Suppressor,
        baseline: Baseline,
    ) -> None:
        self._rule_ids = tuple(rule_ids)
        self._descriptions = DescriptionJudge(self._rule_ids)
        self._assumptions = assumptions
        self.suppressor = suppressor
        self._baseline = baseline
        self._macs = MacJudge(self._rule_ids)

    @cached_property
    def _engine(self) -> Engine:
        from vnicaudit.audit.engine import Engine  # loaded when there is a NIC to judge

        return Engine(self._rule_ids)

    def domain(self, domain: Domain, host: HostConfig, target: str) -> Audited:
        """Findings of one domain."""
        seen = self._assumptions.seen(domain, host)
        return self._filtered(self._engine.audit_domain(domain, seen, target), domain)

    def description(self, item: Description, target: str) -> Audited:
        """Findings of a configuration, an image, a flavor or a preference."""
        if isinstance(item, NovaConfig):
            item = self._assumptions.configured(item)
        elif isinstance(item, Image):
            item = self._assumptions.made_for(item)
        return self._filtered(self._descriptions.audit(item, target), None)

    def host(self, host: Host, uses: frozenset[str], target: str) -> Audited:
        """Findings of one host."""
        seen = msgspec.structs.replace(host, declared=self._assumptions.applied(host.declared))
        return self._filtered(self._engine.audit_host(seen, uses, target), None)

    @cached_property
    def _site(self) -> SiteJudge:
        from vnicaudit.audit.site import SiteJudge  # loaded when there is a nova.conf

        return SiteJudge(self._rule_ids)

    def node(self, item: Description, *, joins: bool) -> Node | None:
        """What is kept of a configuration."""
        if not isinstance(item, NovaConfig) or not (joins or self._site.has_rules):
            return None
        return self._assumptions.node(item)

    def site(self, nodes: Iterable[Node]) -> Iterator[Audited]:
        """Findings on compute nodes that differ."""
        nodes = tuple(nodes)
        if not nodes or not self._site.has_rules:
            return
        from vnicaudit.audit.site import compared

        for node, differences in compared(nodes):
            yield self._filtered(self._site.audit(node, differences), None)

    def compared(self, domain: Domain, target: str) -> tuple[NicSeen, ...]:
        """What tells NICs with one MAC address, where there is a rule for them."""
        return nics_seen(domain, target) if self._macs.has_rules else ()

    def shared(self, table: MacTable) -> Iterator[Audited]:
        """Findings on NICs that share a MAC address."""
        for subject in table.shared():
            own = subject.nic.suppressions
            audited = self.suppressor.accept(self._macs.audit(subject), own)
            yield self._filtered(audited, None)

    def usage(self) -> Usage:
        """What this process knows of the settings' suppressions."""
        return self.suppressor.usage

    def _filtered(self, audited: Audited, domain: Domain | None) -> Audited:
        audited = self.suppressor.apply(audited, domain)
        if not self._baseline or not audited.findings:
            return audited
        from vnicaudit.audit.baseline import is_known  # loaded where there is a baseline

        known = [f for f in audited.findings if is_known(f, self._baseline)]
        if not known:
            return audited
        return msgspec.structs.replace(
            audited,
            findings=tuple(f for f in audited.findings if not is_known(f, self._baseline)),
            baselined=tuple(known),
        )


class NicsWork:
    """Resolve what every NIC really is."""

    products: type[Audited] | type[Domain] = Domain

    def __init__(self, assumptions: Assumptions) -> None:
        from vnicaudit.audit.engine import Engine

        self._engine = Engine(())
        self._assumptions = assumptions

    def domain(self, domain: Domain, host: HostConfig, target: str) -> Domain:
        """The domain, each NIC with its effective facts."""
        del target
        seen = self._assumptions.seen(domain, host)
        nics = tuple(
            msgspec.structs.replace(nic, effective=self._engine.effective(nic, domain, seen))
            for nic in domain.nics
        )
        return msgspec.structs.replace(domain, nics=nics)

    def description(self, item: Description, target: str) -> None:
        """What is no domain has no NICs."""

    def host(self, host: Host, uses: frozenset[str], target: str) -> None:
        """A host's own facts are no NICs."""

    def node(self, item: Description, *, joins: bool) -> Node | None:
        """What is kept of a configuration for the servers of a cloud; nothing is compared."""
        return self._assumptions.node(item) if joins else None

    def site(self, nodes: Iterable[Node]) -> Iterator[Domain]:
        """Nothing is compared."""
        del nodes
        return iter(())

    def compared(self, domain: Domain, target: str) -> tuple[NicSeen, ...]:
        """Nothing is compared."""
        del domain, target
        return ()

    def shared(self, table: MacTable) -> Iterator[Domain]:
        """Nothing is compared."""
        del table
        return iter(())

    def usage(self) -> Usage:
        """No suppressions here."""
        return Usage()


def _versions_of(domain: Domain, host: HostConfig) -> HostConfig:
    """The host with the versions that run this very domain, where its QEMU says them: a guest
    keeps the QEMU it was started with until it is powered off."""
    if domain.qemu_version is None and domain.libvirt_version is None:
        return host
    return msgspec.structs.replace(
        host,
        qemu_version=domain.qemu_version or host.qemu_version,
        libvirt_version=domain.libvirt_version or host.libvirt_version,
    )
