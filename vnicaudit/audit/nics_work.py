"""Work on the NICs of each domain by itself: what every NIC really is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

import msgspec

from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.judging.macs import EncodedNic, MacTable
from vnicaudit.audit.reading.platform import Platforms
from vnicaudit.audit.work import Assumptions
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.location import Description
from vnicaudit.model.report import Audited
from vnicaudit.model.site import SiteNode


class NicsAlone:
    """Work on NICs, each by itself: nothing else is processed, and nothing compared."""

    _assumptions: Assumptions

    def load(self) -> None:
        """Do nothing: all modules for this work are imported with it."""

    def description(self, item: Description, target: str) -> None:
        """Return None: a description that is not a domain has no NICs."""

    def host(self, host: Host, uses: frozenset[str], target: str) -> None:
        """Return None: a host's own facts are not NICs."""

    def node(self, item: Description, *, joins: bool) -> SiteNode | None:
        """Return the part of a configuration that is kept for the servers of a cloud."""
        return self._assumptions.node(item) if joins else None

    def site(self, nodes: Iterable[SiteNode]) -> Iterator[NoReturn]:
        """Yield nothing."""
        del nodes
        return iter(())

    def nics_to_compare(self, domain: Domain, target: str) -> list[EncodedNic]:
        """Return nothing."""
        del domain, target
        return []

    def in_baseline(self, audited: Audited) -> set[str]:
        """Return nothing."""
        del audited
        return set()

    def shared_macs(self, table: MacTable) -> Iterator[NoReturn]:
        """Yield nothing."""
        del table
        return iter(())


class NicsWork(NicsAlone):
    """Resolve the effective settings of every NIC."""

    def __init__(self, assumptions: Assumptions, platforms: Platforms) -> None:
        self.platforms = platforms
        self._auditor = DomainAuditor((), platforms)
        self._assumptions = assumptions

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

    def usage(self) -> Usage:
        """No uses: a list of NICs has no suppressions."""
        return Usage()


class ReadOnly(NicsWork):
    """Reads, and does nothing else."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Domain:
        """The domain without its NICs: nothing is made of it."""
        del host, target
        return msgspec.structs.replace(domain, nics=())
