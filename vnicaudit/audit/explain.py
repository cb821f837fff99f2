"""One NIC, layer by layer: where each setting is declared, which declaration wins, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.explain_layers import layers
from vnicaudit.audit.explain_next import next_checks
from vnicaudit.audit.judging.domains import DomainAuditor, nic_row
from vnicaudit.audit.work import Assumptions, AuditWork, Work
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import Ref
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import CloudServer
from vnicaudit.model.report import Explained, Explanation, ServerName

# Find the wanted NICs among everything that is read, and explain them.


_NAMES = 10_000
"""Maximum number of names remembered to suggest for a misspelt one."""
_ONLY = 20
"""Explanations kept to tell that the targets have more than one NIC."""


class ExplainWork(Work):
    """Looks for the wanted NICs among everything read, and explains each.

    ``wanted`` is a MAC address or an index; ``domain`` a name or UUID (for a server also Nova's
    name for it), or None for any. ``found`` fills up as :meth:`take` is given the products of the
    run; ``bare`` has those of that name without NICs.
    """

    def __init__(
        self, judge: AuditWork, assumptions: Assumptions, wanted: str | None, domain: str | None
    ) -> None:
        """``wanted``: a NIC by MAC address, index or tap; None: the only one."""
        super().__init__(assumptions, judge.platforms)
        self._audit_work = judge
        self._auditor = DomainAuditor((), judge.platforms)
        self._wanted = None if wanted is None else {wanted, wanted.lower().replace("-", ":")}
        self._domain = domain
        self.found: list[Explanation] = []
        self.bare: list[str] = []
        self.has_domain = False
        """True once the requested domain was read."""
        self.names: set[str] = set()
        """Names of the first domains read, if one was requested."""
        self.macs: set[str] = set()
        """MAC addresses of the first NICs among which one is wanted."""

    def domain(self, domain: Domain, host: HostConfig | None, target: str) -> Explained:
        """Explain the wanted NICs of this domain."""
        names = tuple(filter(None, _names(domain)))
        if self._domain not in (None, *names):
            return Explained(names, is_asked_for=False)
        if self._wanted is None:
            nics = list(domain.nics[:_ONLY])
        else:
            nics = [
                nic for nic in domain.nics
                if self._wanted & {nic.known_mac, str(nic.index), nic.target_dev}
            ]  # fmt: skip
        return Explained(
            names,
            is_asked_for=True,
            macs=tuple(mac for nic in domain.nics if (mac := nic.known_mac) is not None),
            explanations=tuple(self._explanations(domain, nics, host, target)),
            bare="" if domain.nics or self._domain is None else _without_nics_text(domain),
        )

    def take(self, product: object) -> None:
        """Remember what was found in one domain; other products are left alone."""
        if not isinstance(product, Explained):
            return
        if self._domain is not None and len(self.names) < _NAMES:
            self.names.add(product.names[0])
        self.has_domain = self.has_domain or product.is_asked_for
        if len(self.macs) < _NAMES:
            self.macs.update(product.macs)
        if self._wanted is not None or len(self.found) < _ONLY:
            self.found += product.explanations
        self.bare += filter(None, [product.bare])

    def usage(self) -> Usage:
        """The uses of the settings' suppressions that were counted so far."""
        return self._audit_work.usage()

    def _explanations(
        self, domain: Domain, nics: Sequence[Nic], host: HostConfig | None, target: str
    ) -> Iterator[Explanation]:
        if not nics:
            return
        judged_host = self._assumptions.host_of(domain, host)
        audited = self._audit_work.domain(domain, host, target)
        title = self.platforms.title(domain.declared)
        for nic in nics:
            effective = self._auditor.effective(nic, domain, judged_host)
            about = partial(_regards, nic=nic)
            yield Explanation(
                nic=nic_row(domain, msgspec.structs.replace(nic, effective=effective)),
                server=_server(domain.cloud),
                layers=tuple(layers(domain, nic, judged_host, effective, title)),
                findings=tuple(one for one in audited.findings if about(one.about)),
                suppressed=tuple(one for one in audited.suppressed if about(one.finding.about)),
                skipped=tuple(one for one in audited.skipped if about(one.about)),
                crashed=tuple(one for one in audited.crashed if about(one.about)),
                next_checks=tuple(next_checks(domain, nic, effective, target)),
            )


def _regards(about: Ref, nic: Nic) -> bool:
    """True if ``about`` refers to this NIC, or to its guest, and not to the file."""
    return about.kind != "config" and about.index in (nic.index, None)


def _server(ref: CloudServer | None) -> ServerName | None:
    if ref is None:
        return None
    return ServerName(
        ref.id, ref.name, ref.target, ref.project or None, ref.project_name or None, ref.host
    )


def _names(domain: Domain) -> tuple[str | None, ...]:
    server = domain.cloud
    names = (domain.name, domain.uuid)
    return names if server is None else (*names, server.name, server.instance_name)


def _without_nics_text(domain: Domain) -> str:
    if isinstance(domain, Server):
        return f"the server {domain.name!r} ({domain.uuid}) has no NIC: no port is attached to it"
    return f"the domain {domain.name!r} has no NIC"


__all__ = ["ExplainWork", "layers"]
