"""Targets -> a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.targets import SeenFiles, Target, TargetKind
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.audit.tally import RunProgress
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.wording import close_to, count, mac_hint
from vnicaudit.errors import UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change, Description, Ref
from vnicaudit.model.plan import DomainUnit, Goal, NotPlanned, Plan, Planned, Reason, UnitStep
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.hypervisor import Adapters
from vnicaudit.text.secrets import masked_message
from vnicaudit.text.targets import without_password

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import PlannedItem

# The options of a plan.


class PlanOptions(msgspec.Struct, frozen=True):
    """``domains`` (names or UUIDs) and ``macs``: plan only these; empty: all. ``accepted``: names
    of functions that may be lost. ``devices``: vDPA devices or vhost-user sockets, one for each of
    ``macs``. ``unsafe``: also plan changes that may hurt a guest. ``over_owner``: also settings of
    hosts that another program sets. ``gitops``: labels and annotations of objects of a cluster
    that a repository keeps; ``owned``: marks of owners that do not count there."""

    to: Goal = "virtio"
    domains: frozenset[str] = frozenset()
    macs: tuple[str, ...] = ()
    accepted: frozenset[str] = frozenset()
    devices: tuple[str, ...] = ()
    socket_mode: str = "server"
    unsafe: bool = False
    over_owner: bool = False
    policy: PolicyTable = PolicyTable()
    gitops: frozenset[str] = frozenset()
    owned: frozenset[str] = frozenset()

    def takes(self, name: str, uuid: str | None) -> bool:
        """True if a domain is to be planned."""
        return not self.domains or bool(self.names_of(name, uuid))

    def names_of(self, name: str, uuid: str | None) -> frozenset[str]:
        """The names in ``domains`` that match the domain: its name or its UUID."""
        return frozenset(
            one for one in self.domains if one == name or (uuid and one.lower() == uuid.lower())
        )

    def converts(self, mac: str | None) -> bool:
        """True if a NIC is to be moved to another backend."""
        return self.to != "virtio" and mac in self.macs

    def device(self, mac: str | None) -> str:
        """The device or socket for a NIC; empty if none was given for it."""
        if mac not in self.macs:
            return ""
        place = self.macs.index(mac)
        return self.devices[place] if place < len(self.devices) else ""


# Checks that the named domains and NICs exist, and are unique.


_KNOWN = 10_000
"""Maximum number of names, and of MAC addresses, remembered to suggest for a misspelt one."""


class RequestedDomains:
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


# A plan in progress, and the planners of its targets.


ReadHosts = Callable[[Sequence[Target]], Iterator[tuple[Target, Iterator["PlannedItem"]]]]
"""Reads live hosts: the items of each host, once, in whatever order the hosts are read."""


class PlanRequest(NamedTuple):
    """The request for a plan. ``work`` judges by the requested rules and decides what is changed;
    ``all_rules_work`` judges by all rules, to find what a change would break. ``reading``: how
    targets are read. ``read_hosts``: reads live hosts side by side; None: one after the other."""

    work: AuditWork
    all_rules_work: AuditWork
    options: PlanOptions
    adapters: Adapters
    reading: RunOptions
    progress: RunProgress = RunProgress()
    read_hosts: ReadHosts | None = None

    def may(self, change: Change | None) -> bool:
        """True if a change is safe, or unsafe changes were requested."""
        return self.options.unsafe or change is None or change.safe


class PlanRun:
    """A plan in progress: its request and targets, the planned items of each target, by its name,
    what could not be read, and notes. ``seen_files``: the files that were read; ``requested``: is
    shown every domain."""

    def __init__(self, request: PlanRequest, targets: tuple[Target, ...]) -> None:
        self.request = request
        self.targets = targets
        self.seen_files = SeenFiles(targets)
        self.requested = RequestedDomains(request.options)
        self.planners: tuple[TargetPlanner, ...] = ()
        self.planned: dict[str, list[Planned]] = {target.name: [] for target in targets}
        self.errors: dict[str, list[str]] = {name: [] for name in self.planned}
        self.notes: list[str] = []
        self.unread_targets = 0

    def add_unread_targets(self, targets: Iterable[Target], read: Collection[str]) -> None:
        """Count those targets that had errors and are not in ``read``, the names of targets of
        which something could be read."""
        names = (target.name for target in targets)
        self.unread_targets += sum(bool(self.errors[name]) for name in names if name not in read)

    def add_unread(self, target: Target, error: ReadError | NotJudged) -> None:
        """Add what could not be read from a target, or was not judged."""
        if isinstance(error, ReadError):
            self.errors[target.name].append(_error_text(error, target))
        else:
            self.notes.append(_error_text(error, target))

    def is_of_use(self, item: Description) -> bool:
        """Show all planners an item of a file that is not a domain. True if one of them uses it:
        then its file is not reported as one without domains."""
        return sum(planner.learns(item) for planner in self.planners) > 0  # not any(): all see it


_BY_HAND = "{}: {} without a change that can be planned; vnicaudit audit {} says what to do"


class TargetPlanner(ABC):
    """Plans the targets of one kind, for one plan."""

    def __init__(self, run: PlanRun) -> None:
        self._run = run
        self._request = run.request
        self._platforms = run.request.work.platforms

    @abstractmethod
    def takes(self, target: Target) -> bool:
        """True for a target of its kind."""

    @abstractmethod
    def plan(self, targets: tuple[Target, ...]) -> None:
        """Read its targets, and add the planned items of each to the run. Nothing is changed.
        Raises UsageError for targets that cannot be changed, and for a name that matches
        several."""

    def learns(self, item: Domain | Description) -> bool:
        """True if it learns something from an item that was read for another planner."""
        del item
        return False

    def missing(self) -> list[str]:
        """Everything that was named and does not exist, apart from domains and NICs: one sentence
        each."""
        return []

    def covers(self, found: Planned) -> bool:
        """True if an item that another planner found is planned here instead, and so left out
        there."""
        del found
        return False


class LivePlanner(TargetPlanner):
    """Plans live targets, each by itself."""

    def plan(self, targets: tuple[Target, ...]) -> None:
        """Read each target, side by side or one after the other, and plan what is found in it."""
        read, live = self._platforms.read_to_plan, self._request.reading.live
        found = (
            ((one, guarded(one.name, read(one.name, live))) for one in targets)
            if self._request.read_hosts is None
            else self._request.read_hosts(targets)
        )
        names = {target.name for target, items in found if self.plan_items(target, items)}
        self._run.add_unread_targets(targets, names)

    @abstractmethod
    def plan_items(self, target: Target, items: Iterator[PlannedItem]) -> bool:
        """Plan what was read of one target. True if anything could be read."""

    def leave_out(self, target: str, about: Ref, rules: tuple[str, ...], reason: Reason) -> None:
        """Add to the run that something is not planned."""
        left = NotPlanned(about, target, rules, reason.text, code=reason.code)
        self._run.planned[target].append(left)

    def note_by_hand(self, target: str, findings: int) -> None:
        """Note the number of findings that propose nothing that could be planned."""
        if findings:
            self._run.notes.append(_BY_HAND.format(target, count(findings, "finding"), target))


Planners = Callable[[PlanRun], tuple[TargetPlanner, ...]]
"""Makes the planners of a run, one for each kind of its targets, in the order in which they are
read."""


def _error_text(error: ReadError | NotJudged, target: Target) -> str:
    """The place and message of an item that could not be read or was not judged."""
    place = error.file or target.name
    where = place if error.line is None else f"{place}:{error.line}"
    return f"{where}: {error.message}"


_LOG_IN = (
    "{}: the password in its URI was not used and is not in the plan, as libvirt takes none from a "
    "URI: to apply the plan, use an ssh key or agent (~/.ssh/config), libvirt's auth.conf for "
    "SASL, or client certificates for TLS"
)


def make_plan(targets: Iterable[Target], planners: Planners, request: PlanRequest) -> Plan:
    """The plan of all targets. Nothing is changed. If two planners accept a target, the later one
    gets it.

    Raises UsageError for targets that cannot be changed, and for named domains and NICs that do not
    exist.
    """
    given = tuple(targets)
    stripped = (replace(target, name=without_password(target.name)) for target in given)
    run = PlanRun(request, tuple(dict.fromkeys(stripped)))
    run.notes += [
        _LOG_IN.format(without_password(target.name))
        for target in given if target not in run.targets
    ]  # fmt: skip
    run.planners = planners(run)
    by_target = {target.name: _planner_of(target, run) for target in run.targets}
    for planner in run.planners:
        own = tuple(target for target in run.targets if by_target[target.name] is planner)
        if own:
            planner.plan(own)
    found = tuple(_without_covered(run, by_target))
    errors = [error for of_target in run.errors.values() for error in of_target]
    missing = [
        *(each for planner in run.planners for each in planner.missing()),
        *run.requested.missing(),
    ]
    if missing and not errors:
        raise UsageError("; ".join(missing))
    steps = (one for one in found if isinstance(one, UnitStep))
    return Plan(
        tool="vnicaudit",
        version=__version__,
        created=timestamp("seconds"),
        to=request.options.to,
        targets=tuple(target.name for target in run.targets),
        steps=tuple(replace(step, id=str(number)) for number, step in enumerate(steps, 1)),
        not_planned=tuple(one for one in found if isinstance(one, NotPlanned)),
        errors=tuple(map(masked_message, (*errors, *missing))),
        notes=tuple(run.notes),
        unread_targets=run.unread_targets,
    )


def _planner_of(target: Target, run: PlanRun) -> TargetPlanner:
    """The planner of a target. Raises UsageError if there is none."""
    for planner in reversed(run.planners):
        if planner.takes(target):
            return planner
    kind = run.request.work.platforms.kind_of(target)
    raise UsageError(
        f"{target.name}: {(kind or TargetKind(target.kind, lambda _: None)).not_planned}"
    )


def _without_covered(run: PlanRun, by_target: Mapping[str, TargetPlanner]) -> Iterator[Planned]:
    """The planned items of all targets, in their order, without those that another planner covers:
    those of a host's domain that is a server of a cloud. Steps on anything else stay."""
    for name, of_target in run.planned.items():
        others = [planner for planner in run.planners if planner is not by_target[name]]
        for one in of_target:
            stays = isinstance(one, UnitStep) and not isinstance(one.unit, DomainUnit)
            if stays or not any(planner.covers(one) for planner in others):
                yield one
