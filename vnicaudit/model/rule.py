"""Definition of a rule: one :class:`Rule` in a module of :mod:`vnicaudit.rules` named after its id.

The module's docstring is the rule's manual page. A rule is pure: subjects in, problems out. The
subject of a rule on a configuration, an image… is its
:class:`~vnicaudit.model.finding.Description` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import Location, Owner
from vnicaudit.model.nic import NONE

if TYPE_CHECKING:
    from vnicaudit.model.domain import DomainConfig, DomainState, StagedNic
    from vnicaudit.model.finding import Change, Confidence, DescriptionKind, Scope, Severity
    from vnicaudit.model.fix import Fix
    from vnicaudit.model.host import Difference, HostConfig, SiteNode, Workload
    from vnicaudit.model.host_facts import HostFacts, HostGuest, HostLink, Ovs
    from vnicaudit.model.nic import Effective, NicConfig, PathMtu, RunningNic


S = TypeVar("S", contravariant=True)


class Problem(msgspec.Struct, frozen=True):
    """One thing a rule found. The auditor adds the NIC, the place and the fingerprint.

    ``field`` is the declared field it concerns, which gives the finding its line; ``severity`` None
    means the rule's own. ``fix`` is a sentence, or a value of :mod:`vnicaudit.model.fix` if it
    contains commands or is worded differently for each owner. It is the whole fix if there is no
    ``change``; otherwise it is added to the change's wording.
    """

    message: str
    field: str | None = None
    severity: Severity | None = None
    confidence: Confidence = "high"
    change: Change | None = None
    fix: str | Fix = ""
    related: tuple[Location, ...] = ()
    """Other places involved; only for descriptions, since a NIC has no place here."""


class Fact(msgspec.Struct, Generic[S], frozen=True):
    """A fact about a subject that a source may lack. ``known`` returns True if this subject has it;
    ``tell`` completes "needs …": the source that would provide it."""

    known: Callable[[S], bool]
    tell: str
    live: bool = False
    """True if only a live host has it, and no definition."""
    reason: Callable[[S], str] | None = None
    """Returns what to say of one subject in place of ``tell``."""


class Judge(msgspec.Struct, Generic[S], frozen=True):
    """How a rule judges the subjects of one ``scope``, each by itself: ``nic``, ``domain`` (or
    server of a cloud), ``guest`` (of a cluster), ``host``, ``link`` (of a host), ``config`` (of
    nova-compute), ``image``, ``flavor``, ``preference`` and ``cluster``; and when everything has
    been read, ``site`` (each compute node that differs from others of its site) and ``mac`` (each
    NIC that shares its MAC address)."""

    scope: Scope
    applies: Callable[[S], bool]
    """Returns True if the rule may have a problem to report; called before ``needs`` is checked."""
    check: Callable[[S], Iterable[Problem]]
    """Yields the problems of a subject whose ``needs`` are all known."""
    needs: tuple[Fact[S], ...] = ()
    """Facts without which the rule is skipped, and reported as skipped."""


AnyJudge = Judge[NoReturn]
"""A judge of some scope: what it judges is known by that."""
Judges = tuple[AnyJudge, ...]


class RuleSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Settings of a rule in `vnicaudit.toml`: one field per key, each with a default and, by
    :func:`setting`, with a description."""


T = TypeVar("T", bound=RuleSettings)


def setting(
    description: str, *, at_least: int | None = None, at_most: int | None = None
) -> msgspec.Meta:
    """Description and limits of a key, for ``Annotated``."""
    return msgspec.Meta(description=description, ge=at_least, le=at_most)


class Adjustable(msgspec.Struct, frozen=True):
    """A configurable rule: its keys, and the judges built from a table of settings."""

    kind: type[RuleSettings]
    judges: Callable[[Mapping[str, object]], Judges]
    """Builds the judges from a table. Raises msgspec.ValidationError for an invalid one."""


def adjustable(kind: type[T], judges: Callable[[T], Judges]) -> Adjustable:
    """A rule whose judges depend on settings of this kind."""
    return Adjustable(kind, lambda table: judges(converted(table, kind)))


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. Its id is the name of its file in capitals, its manual the file's docstring."""

    name: str
    """Short kebab-case name, unique."""
    severity: Severity
    """The severity of a problem that does not set its own."""
    judges: Judges
    """One judge per scope at most; the rule's main scope first."""
    groups: tuple[str, ...] = ()
    """Words by which it can be selected together with other rules: ``models``, ``nova``."""
    forms: tuple[DescriptionKind, ...] = ("definition",)
    """For NICs and domains: the forms of description that it judges. Most rules need facts that
    only libvirt and QEMU have."""
    settings: Adjustable | None = None
    """Set for a configurable rule; ``judges`` are then those with the default settings."""
    unasked: bool = False
    """The problem that it finds on a server will occur without anybody's action, and no change is
    proposed: a plan reports it as left out."""


def adjustable_rule(
    kind: type[T],
    judge: Callable[[T], AnyJudge],
    *,
    name: str,
    severity: Severity,
    groups: tuple[str, ...],
    forms: tuple[DescriptionKind, ...] = ("definition",),
) -> Rule:
    """A rule with one judge, which depends on settings of this kind."""
    settings = adjustable(kind, lambda given: (judge(given),))
    return Rule(
        name=name,
        severity=severity,
        judges=(judge(kind()),),
        groups=groups,
        forms=forms,
        settings=settings,
    )


class Subject(msgspec.Struct, frozen=True, cache_hash=True):
    """One NIC as a rule sees it: what is set, its effective values, and its surroundings.

    It has no name, MAC, UUID or file: two NICs configured alike get the same result, which the
    auditor may reuse.
    """

    nic: NicConfig
    effective: Effective
    domain: DomainConfig
    host: HostConfig
    running: RunningNic | None = None
    state: DomainState | None = None
    staged: StagedNic | None = None
    path: PathMtu | None = None

    @property
    def model(self) -> str:
        """The effective model; ``""`` when unknown or none, so that it can be compared."""
        return self.effective.model.effective or ""

    @property
    def backend(self) -> str | None:
        """The actual interface type: bridge, ethernet, direct, vhostuser…; None when unknown."""
        return self.nic.actual_type

    @property
    def arch(self) -> str | None:
        """The guest's architecture; the host's if the definition names none."""
        return self.domain.arch or self.host.arch

    @property
    def tuned(self) -> bool:
        """True if libvirt reads ``<driver queues= rx_queue_size= …>`` of this NIC: never on an
        assigned device; else see :attr:`~vnicaudit.model.nic.NicConfig.tuning_is_read`."""
        return self.nic.tuning_is_read and self.effective.model.state != NONE

    @property
    def proven(self) -> bool:
        """True if a running QEMU proves that this NIC starts, on the versions judged for."""
        return self.running is not None and not self.host.assumed

    def not_running(self, model: str | None) -> Subject:
        """A copy as at the next start, with that model; None: a refused one."""
        found = replace(self.effective.model, effective=model)
        return replace(self, running=None, effective=replace(self.effective, model=found))


class DomainSubject(msgspec.Struct, frozen=True):
    """A whole domain as a domain rule sees it."""

    nics: tuple[Subject, ...]
    domain: DomainConfig
    host: HostConfig
    state: DomainState | None = None
    coming: tuple[str, ...] = ()
    """MACs of NICs that only the persistent definition has; nothing else identifies them."""


class HostSubject(msgspec.Struct, frozen=True):
    """A host as a host rule sees it. ``uses`` lists the traits of its domains' NICs that matter to
    the host: actual types, plus ``kvm-tap`` if one of them gets vhost-net if the host has it.
    ``guests``: the domains read there. ``workload`` None: the operator does not say."""

    host: HostConfig
    uses: frozenset[str] = frozenset()
    guests: tuple[HostGuest, ...] = ()
    workload: Workload | None = None


class VisitedHost(HostSubject, frozen=True, dict=True, kw_only=True):
    """A host that was visited itself, beside its libvirt or without it."""

    facts: HostFacts

    @property
    def ovs(self) -> Ovs:
        """Open vSwitch of the host."""
        return self.facts.ovs

    @cached_property
    def taps(self) -> frozenset[str | None]:
        """Devices of running guests' NICs, unless they are paused."""
        guests = (one for one in self.guests if one.running and not one.paused)
        return frozenset(nic.device for one in guests for nic in one.nics)

    @cached_property
    def by_name(self) -> dict[str, list[HostGuest]]:
        """The guests of each name."""
        found: dict[str, list[HostGuest]] = {}
        for guest in self.guests:
            found.setdefault(guest.name, []).append(guest)
        return found


class LinkSubject(msgspec.Struct, frozen=True):
    """One link of a host as a link rule sees it, with all of the host. ``carries``: names of the
    guests whose frames take it, by :func:`vnicaudit.knowledge.host_links.carried`."""

    link: HostLink
    host: VisitedHost
    carries: tuple[str, ...] = ()

    @property
    def facts(self) -> HostFacts:
        """Facts of the host."""
        return self.host.facts

    def guests(self) -> tuple[HostGuest, ...]:
        """The guests whose frames take it."""
        return tuple(each for name in self.carries for each in self.host.by_name.get(name, ()))


class SiteSubject(msgspec.Struct, frozen=True):
    """One compute node compared with the others of its site, as a site rule sees it. ``field`` of a
    problem names the option."""

    node: SiteNode
    differences: tuple[Difference, ...] = ()


ATTACHMENT = "NetworkAttachmentDefinition "
"""Begins ``NicSeen.network`` of a NIC on a secondary network of KubeVirt, before its name."""


class NicSeen(msgspec.Struct, frozen=True, array_like=True):
    """One NIC with a MAC address, from one reading of a guest. All NICs of a run are compared by
    it, which needs the identity that :class:`~vnicaudit.model.nic.NicConfig` leaves out."""

    mac: str
    """Lower case, six pairs of digits."""
    domain: str
    uuid: str | None
    """Without hyphens."""
    reading: str
    """The reading of the guest that it is from: target, file and place in it."""
    target: str
    location: Location
    index: int
    kind: str
    """Interface type."""
    owner: Owner = "libvirt"
    target_dev: str | None = None
    network: str = ""
    """Type and name of the network it is connected to; empty: unknown, or a pod's."""
    host: str = ""
    """Identifies the host, to see whether two guests are on the same one: a live target, or
    libvirt's own folder of definitions; empty: unknown."""
    active: bool | None = None
    teaming: bool = False
    alone: bool = False
    """It is compared only with NICs of its own guest."""
    identity: tuple[str, str] = ("", "")
    """The parts, besides the rule, of the fingerprint of a finding on it."""
    has_name: bool = True
    """False: its guest has no name, and ``domain`` is a placeholder."""
    machine: str = ""
    """The name that its host has in libvirt; empty: not read from a live host. Several targets may
    be one host."""

    @property
    def label(self) -> str:
        """Name of the NIC in messages."""
        return f"NIC {self.index} of {self.domain[:60]}"


class MacSubject(msgspec.Struct, frozen=True):
    """One NIC together with the ``other_nics`` of the run that have its MAC address: of its own
    guest or of another one. Only here does a rule see identities, because it compares them."""

    nic: NicSeen
    other_nics: tuple[NicSeen, ...]
