"""Work on each item that is read, and comparisons between items when everything has been read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vnicaudit.audit.judging.macs import MacTable
from vnicaudit.audit.same_guest import with_reading

if TYPE_CHECKING:
    from vnicaudit.audit.chunk import Batch
    from vnicaudit.audit.judging.macs import EncodedNic
    from vnicaudit.audit.work import ItemWork, Product
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.host import HostConfig
    from vnicaudit.model.location import Description
    from vnicaudit.model.site import SiteNode

MAX_NODES = 20_000
"""Maximum number of compute nodes that are compared with each other."""


class ComparedWork:
    """Works on each item, and remembers its NICs and compute nodes. ``joins``: the nodes are joined
    with the servers of a cloud too."""

    def __init__(self, work: ItemWork, *, joins: bool = False) -> None:
        self._work = work
        self._joins = joins
        self._macs: MacTable | None = None  # made for the first NIC
        self.nodes: list[SiteNode] = []

    def domain(self, domain: Domain, target: str, host: HostConfig | None = None) -> Product:
        """Work on a domain."""
        self._take_nics(self._work.nics_to_compare(domain, target))
        return with_reading(self._work.domain(domain, host, target), domain)

    def description(self, item: Description, target: str) -> Iterator[Product]:
        """Work on a description; yields nothing if there is nothing to do."""
        if (product := self._work.description(item, target)) is not None:
            yield product
        if (node := self._work.node(item, joins=self._joins)) is not None:
            self._take_nodes([node])

    def take(self, batch: Batch) -> None:
        """Remember the NICs and nodes that worker processes returned."""
        self._take_nics(batch.nics_seen)
        self._take_nodes(batch.nodes)

    def comparisons(self) -> Iterator[Product]:
        """The products of comparing everything that was remembered."""
        yield from self._work.site(self.nodes)
        if self._macs is not None:
            yield from self._work.shared_macs(self._macs)

    def notes(self) -> list[str]:
        """Notes on what was not compared, for lack of space."""
        return [] if self._macs is None else self._macs.notes()

    def _take_nics(self, nics: list[EncodedNic]) -> None:
        if not nics:
            return
        if self._macs is None:
            self._macs = MacTable()
        self._macs.take(nics)

    def _take_nodes(self, nodes: list[SiteNode]) -> None:
        self.nodes += nodes[: MAX_NODES - len(self.nodes)]
