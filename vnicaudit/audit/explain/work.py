"""The wanted NICs among all that is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.audit.engine import Engine
from vnicaudit.audit.explain.layers import layers
from vnicaudit.audit.macs import MacTable
from vnicaudit.audit.rows import row
from vnicaudit.audit.suppressions import Usage
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.nic import Nic
from vnicaudit.model.report import Audited, Explanation, ServerName
from vnicaudit.model.server import ServerRef
from vnicaudit.model.site import Node


class ExplainWork:
    """Looks for the wanted NICs among everything read, and explains each.

    ``wanted`` is a MAC address or an index; ``domain`` a name or UUID (of a server also what Nova
    calls it), or None for any.
    ``found`` fills up while the targets are read; ``bare`` says which of that name have no NICs.
    """

    products: type[Audited] | type[Domain] = Audited

    def __init__(
        self, judge: AuditWork, assumptions: Assumptions, wanted: str, domain: str | None
    ) -> None:
        self._judge = judge
        self._assumptions = assumptions
        self._engine = Engine(())
        self._wanted = {wanted, wanted.lower().replace("-", ":")}
        self._domain = domain
        self.found: list[Explanation] = []
        self.bare: list[str] = []

    def domain(self, domain: Domain, host: HostConfig, target: str) -> Audited:
        """Explain the NICs of this domain that are wanted."""
        if self._domain is None or self._domain in _names(domain):
            for nic in domain.nics:
                if self._wanted & {nic.mac, str(nic.index), nic.target_dev}:
                    self.found.append(self._explained(domain, nic, host, target))
            if self._domain is not None and not domain.nics:
                self.bare.append(_bare(domain))
        return Audited(target, domain.name)

    def description(self, item: Description, target: str) -> None:
        """What is no domain has no NICs."""

    def host(self, host: Host, uses: frozenset[str], target: str) -> None:
        """A host's own facts are shown with each NIC."""

    def node(self, item: Description, *, joins: bool) -> Node | None:
        """What is kept of a configuration for the servers of a cloud; nothing is compared."""
        return self._assumptions.node(item) if joins else None

    def site(self, nodes: Iterable[Node]) -> Iterator[Audited]:
        """Nothing is compared."""
        del nodes
        return iter(())

    def compared(self, domain: Domain, target: str) -> tuple[NicSeen, ...]:
        """Nothing is compared."""
        del domain, target
        return ()

    def shared(self, table: MacTable) -> Iterator[Audited]:
        """Nothing is compared."""
        del table
        return iter(())

    def usage(self) -> Usage:
        """What the judging so far knows of the settings' suppressions."""
        return self._judge.usage()

    def _explained(self, domain: Domain, nic: Nic, host: HostConfig, target: str) -> Explanation:
        seen = self._assumptions.seen(domain, host)
        effective = self._engine.effective(nic, domain, seen)
        audited = self._judge.domain(domain, host, target)
        return Explanation(
            nic=row(domain, msgspec.structs.replace(nic, effective=effective)),
            server=_server(domain.cloud),
            layers=tuple(layers(domain, nic, seen, effective)),
            findings=tuple(f for f in audited.findings if f.nic.index in (nic.index, None)),
            suppressed=tuple(
                s for s in audited.suppressed if s.finding.nic.index in (nic.index, None)
            ),
            skipped=tuple(s for s in audited.skipped if s.nic.index in (nic.index, None)),
            crashed=tuple(c for c in audited.crashed if c.nic.index in (nic.index, None)),
        )


def _server(ref: ServerRef | None) -> ServerName | None:
    if ref is None:
        return None
    return ServerName(
        ref.id, ref.name, ref.target, ref.project or None, ref.project_name or None, ref.host
    )


def _names(domain: Domain) -> tuple[str | None, ...]:
    server = domain.cloud
    names = (domain.name, domain.uuid)
    return names if server is None else (*names, server.name, server.instance_name)


def _bare(domain: Domain) -> str:
    if domain.declared.form == "server":
        return f"the server {domain.name!r} ({domain.uuid}) has no NIC: no port is attached to it"
    return f"the domain {domain.name!r} has no NIC"
