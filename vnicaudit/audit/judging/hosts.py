"""Rules x hosts: judge a host and its links, joined with the guests that were read there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.effective.resolve import uses_of
from vnicaudit.audit.judging.judgement import (
    Auditor,
    FindingCollector,
    Place,
    RuleVerdict,
    ask,
)
from vnicaudit.knowledge.host_links import carried_by
from vnicaudit.knowledge.partitions import is_divided, partition_of
from vnicaudit.model.finding import Location, Ref
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts, HostGuest, NicOnHost
from vnicaudit.model.rule import HostSubject, LinkSubject, VisitedHost

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.finding import Finding
    from vnicaudit.model.fleet import HostTraffic, LiveDomain
    from vnicaudit.model.host import HostConfig
    from vnicaudit.model.report import Audited


_LINKS = "the host's links (ip -j link, of iproute2 4.14 or later)"


class SeenHost:
    """One host of a run, as it comes: itself, its facts, and its guests."""

    def __init__(self) -> None:
        self._host: Host | None = None
        self._facts: HostFacts | None = None
        self._uses: set[str] = set()
        self._guests: list[HostGuest] = []

    @property
    def name(self) -> str:
        """The name that it gives itself; empty: not read yet."""
        return "" if self._host is None else self._host.name

    def take(self, item: HostItem) -> Item | LiveDomain | HostTraffic | None:
        """Keep the item if it is of the host itself, and return None; else return it."""
        if isinstance(item, Host):
            self._host = item
        elif isinstance(item, HostFacts):
            self._facts = item
        else:
            return item
        return None

    def runs(self, domain: Domain, host: HostConfig) -> None:
        """Note one of its guests."""
        self._uses |= uses_of(domain, host)
        self._guests.append(guest_of(domain))

    def subject(self) -> HostSubject | None:
        """The host, for its rules; None if nothing was read of it."""
        if self._host is None:
            return None
        host, uses, guests = self._host.declared, frozenset(self._uses), tuple(self._guests)
        if self._facts is None:
            return HostSubject(host, uses, guests)
        return VisitedHost(host, uses, guests, facts=self._facts)


def guest_of(domain: Domain) -> HostGuest:
    """A domain, as far as the rules on its host need it."""
    return HostGuest(
        name=domain.name,
        running=None if domain.state is None else domain.state.active,
        paused=domain.state is not None and domain.state.paused,
        vcpus=domain.declared.vcpus,
        huge_kib=domain.huge_kib,
        nics=tuple(
            NicOnHost(
                device=nic.target_dev,
                socket=nic.source if nic.declared.actual_type in ("vhostuser", "vdpa") else None,
                model=(nic.running and nic.running.model) or nic.declared.model or "",
                mtu=(nic.running and nic.running.mtu) or nic.declared.mtu,
                is_path_judged=nic.path is not None,
            )
            for nic in domain.nics
        ),
    )


_NAMESPACE = "netns://"


def _within(target: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings in a network namespace: their commands would else change the host's own."""
    name = target.removeprefix(_NAMESPACE).partition("?")[0]
    where = f"(Commands: in that network namespace, ip netns exec {name} sh.)"
    for one in findings:
        yield replace(one, fix=f"{one.fix} {where}") if one.fix else one


class HostAuditor(Auditor):
    """Judges hosts and their links."""

    def audit(self, name: str, host: HostSubject, target: str) -> Audited:
        """Judge the host with that name by itself, then each of its links."""
        about, collector = Ref("host"), FindingCollector(self._wordings, "host")
        collector.take(ask(self._rules("host").of(), host), about, _place_in(name, about, target))
        cpus = None
        if isinstance(host, VisitedHost):
            facts, rules = host.facts, self._rules("link").of()
            carried = carried_by(facts, host.guests)
            for link in facts.links or ():
                ref = Ref("link", link.name)
                verdicts = ask(rules, LinkSubject(link, host, carried.get(link.name, ())))
                collector.take(verdicts, ref, _place_in(name, ref, target))
            unknown = (RuleVerdict(rule, needs=_LINKS, live=True) for rule in rules)
            collector.take(() if facts.links else unknown, about, _place_in(name, about, target))
            cpus = partition_of(facts) if is_divided(facts) else None
        audited = replace(collector.audited(target, name, "host"), cpus=cpus)
        if target.startswith(_NAMESPACE):
            return replace(audited, findings=tuple(_within(target, audited.findings)))
        return audited


def _place_in(host: str, ref: Ref, target: str) -> Callable[[str | None], Place]:
    """Returns the place of a problem of a host or one of its links. The problem's ``field`` names a
    part of it (a CPU, a port), which keeps several problems of one rule apart."""

    def place_of(field: str | None) -> Place:
        parts = "/".join(part for part in (ref.name, field) if part)
        return (
            ref,
            Location(target, None, None, f"{ref.kind}/{parts}" if parts else None),
            (host, parts),
        )

    return place_of
