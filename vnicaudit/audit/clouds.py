"""The clouds of a run, and the definitions in files that wait for their servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.files import shown_path
from vnicaudit.audit.reading.machines import ServerSelection
from vnicaudit.audit.reading.servers import JoinedServers, NodesByHost, SeenObjects
from vnicaudit.base.wording import bare_uuid
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.report import ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import CloudReading, Target
    from vnicaudit.audit.tally import ComparingWork, TargetCounts
    from vnicaudit.audit.work import Product


class CloudServers:
    """Reads clouds after all files have been read. ``guests``: the definitions that wait, each with
    its target. ``everyone``: libvirt or processes are read afterwards, so each server waits for its
    domain."""

    def __init__(
        self,
        targets: list[Target],
        work: ComparingWork,
        chosen: ServerSelection,
        tallies: Mapping[str, TargetCounts],
        guests: list[tuple[Domain, str]],
        *,
        everyone: bool,
    ) -> None:
        self._targets = targets
        self._work = work
        self._chosen = chosen
        self._tallies = tallies
        self._guests = guests
        self._nodes = NodesByHost(work.nodes)
        self._seen = SeenObjects() if len(targets) > 1 else None
        awaited = frozenset(bare_uuid(guest.uuid or "") for guest, _target in guests)
        self.servers = JoinedServers(self._nodes, awaited, everyone=everyone, seen=self._seen)

    def items(self, target: Target, cloud: CloudReading) -> Iterator[Product]:
        """The products of one cloud, except the servers that wait for their domain."""
        tally = self._tallies[target.name]
        items = guarded(target.name, cloud.items)
        for item in self._chosen.selected(target.name, items, tally.notes):
            if isinstance(item, ReadError):
                tally.error(item)
            elif isinstance(item, Server):
                tally.domain(item)
                if (server := self.servers.take(item, target.name)) is not None:
                    yield self._work.domain(server, target.name)
            else:
                tally.configs += 1
                if self._seen is None:
                    yield from self._work.description(item, target.name)
                else:
                    self._seen.take(item, target.name)
        tally.notes += cloud.notes
        tally.calls = cloud.calls

    def rest(self) -> Iterator[Product]:
        """The products of all clouds together, and of the definitions that waited for them."""
        for target in self._targets:
            for missing in (*self._chosen.missing(), *self._chosen.ambiguous()):
                self._tallies[target.name].error(ReadError(missing, target.name))
        same: list[tuple[str, str]] = []
        if self._seen is not None:
            for name, item in self._seen.waiting():
                yield from self._work.description(item, name)
            same = list(self._seen.notes("reported"))
        for name, note in chain(same, self._nodes.notes()):
            self._tallies[name].notes.append(note)
        self._guests.reverse()
        while self._guests:  # dropped as they are judged
            guest, name = self._guests.pop()
            if self._chosen.is_left_out(guest.uuid):
                self._tallies[name].forget(guest)
            else:
                yield self._work.domain(self.servers.joined(guest), shown_path(name))

    def is_left_out(self, uuid: str | None) -> bool:
        """True for the domain of a server that was not selected."""
        return self._chosen.is_left_out(uuid)

    def unmatched(self) -> Iterator[Product]:
        """Servers whose domain was not read: judged only by the facts of their cloud."""
        for name, server in self.servers.unmatched():
            yield self._work.domain(server, name)
