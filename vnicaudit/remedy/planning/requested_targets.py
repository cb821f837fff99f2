"""Checks that the named domains and NICs exist, and are unique."""

from __future__ import annotations

from vnicaudit.base.identifiers import mac_hint
from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.remedy.planning.options import PlanOptions

_KNOWN = 10_000
"""Maximum number of names, and of MAC addresses, remembered to suggest for a misspelt one."""


class RequestedTargets:
    """Is shown every domain and object that is read."""

    def __init__(self, options: PlanOptions) -> None:
        self._options = options
        self._named: set[str] = set()
        self._known: set[str] = set()
        self._macs: dict[str | None, Domain] = {}
        self._known_macs: set[str] = set()

    def add(self, name: str, id: str | None) -> bool:
        """Add an object without a NIC of its own (an image, a flavor), by its name and id. True if
        it is to be planned."""
        self._named |= self._options.names_of(name, id)
        if self._options.domains and len(self._known) < _KNOWN:
            self._known.add(name)
        return self._options.takes(name, id)

    def add_domain(self, domain: Domain, running: Domain | None = None) -> None:
        """Add a domain or server by its definition, and in its running form if that is known
        separately. Raises UsageError if more than one has a NIC that is to get a device or
        socket."""
        if not self.add(domain.name, domain.uuid):
            return
        macs = {nic.mac for nic in (*(running or domain).nics, *domain.nics)}
        if self._options.macs and len(self._known_macs) < _KNOWN:
            self._known_macs |= {mac for mac in macs if mac is not None}
        for mac in macs.intersection(self._options.macs):
            other = self._macs.setdefault(mac, domain)
            if self._options.to != "virtio" and other is not domain:
                raise UsageError(
                    f"NIC {mac} is in domain {other.name} and in {domain.name}: say which "
                    "(--domain)"
                )

    def missing(self) -> list[str]:
        """Named domains and NICs that do not exist, one sentence each."""
        domains = sorted(self._options.domains - self._named)
        macs = [mac for mac in self._options.macs if mac not in self._macs]
        where = "the domains that are named" if self._options.domains else "the targets"
        return [
            *(
                (
                    f"no domain in the targets has the name {name!r} "
                    f"(--domain){close_to(name, sorted(self._known))}"
                )
                for name in domains
            ),
            *(
                (
                    f"no NIC in {where} has the MAC address {mac} "
                    f"(--nic){mac_hint(mac, self._known_macs)}"
                )
                for mac in macs
            ),
        ]
