"""Domains and NICs that were named: whether they are there, and once."""

from __future__ import annotations

from vnicaudit.errors import UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.remedy.planning.cloud.items import CloudItem
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import Source


class Meant:
    """Is shown every domain there is."""

    def __init__(self, options: PlanOptions) -> None:
        self._options = options
        self._named: set[str] = set()
        self._macs: dict[str | None, Source] = {}

    def met_in_cloud(self, item: CloudItem) -> None:
        """A server, an image or a flavor. Raises UsageError as :meth:`met`."""
        if isinstance(item, Domain):
            self.met(Source("", item, item, b""))
        elif self._options.takes(item.name, item.id):
            self._named |= self._options.named(item.name, item.id)

    def met(self, source: Source) -> None:
        """A domain. Raises UsageError where a NIC that is to have a device or socket is in more
        than one."""
        domain = source.domain
        if not self._options.takes(domain.name, domain.uuid):
            return
        self._named |= self._options.named(domain.name, domain.uuid)
        there = {nic.mac for nic in (*source.running.nics, *domain.nics)}
        for mac in there.intersection(self._options.macs):
            other = self._macs.setdefault(mac, source)
            if self._options.to != "virtio" and other is not source:
                raise UsageError(
                    f"NIC {mac} is in domain {other.domain.name} and in {domain.name}: say which "
                    "(--domain)"
                )

    def missing(self) -> list[str]:
        """What was named and not met."""
        domains = sorted(self._options.domains - self._named)
        macs = [mac for mac in self._options.macs if mac not in self._macs]
        where = "the domains that are named" if self._options.domains else "the targets"
        return [
            *(f"no domain of the targets is called {name!r} (--domain)" for name in domains),
            *(f"no NIC in {where} has the MAC address {mac} (--nic)" for mac in macs),
        ]
