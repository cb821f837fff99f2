"""Open everything that a measurement needs: both ends of each path, and facts about the host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint, Ends, Engine, Guard, readable
from vnicaudit.bench.endpoints.addresses import (
    address_of,
    is_host_name,
    place_of,
    refuse_local_route,
)
from vnicaudit.bench.endpoints.ip_output import nic_with
from vnicaudit.bench.endpoints.opening import (
    PathOption,
    address_option,
    domain_of,
    hypervisor_of,
    machine_of,
    open_endpoint,
    require_tools,
)
from vnicaudit.bench.endpoints.turns import TURN_SECONDS, Say, wait_for_turns
from vnicaudit.bench.engines import load_engine
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.bench.facts.guards import GUARDS
from vnicaudit.bench.facts.guest_process import GuestHost, find_guest, guest_nic
from vnicaudit.bench.facts.setup import host_setup_of, setup_of
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.forecast import Listener
from vnicaudit.errors import EndpointError, MeasureError, VnicauditError
from vnicaudit.model.fleet import DEADLINE
from vnicaudit.model.measurement import Path, Ran, Setup, Workload
from vnicaudit.remedy.hypervisor import GetAdapters, Hypervisor, Machine


class BenchPlugins(NamedTuple):
    """The load generators, loaded by name, and the guard rails that are checked besides."""

    engine: Callable[[str], Engine] = load_engine
    guards: Mapping[str, Guard] = GUARDS


SHIPPED = BenchPlugins()
"""Those that come with this program."""

# The arms of a comparison: paths, or states of one path that a command switches between.


_SWITCH_SECONDS = 60.0


class ArmCommands(NamedTuple):
    """The commands that switch the ends of a path to an arm; empty: nothing is switched there."""

    target: tuple[str, ...] = ()
    peer: tuple[str, ...] = ()


class OpenedArm(NamedTuple):
    """An arm, named as its path, with its opened ends. ``enter``: without commands, the arm is its
    path."""

    path: Path
    ends: Ends
    watch: Watch
    boot: str = ""
    enter: ArmCommands = ArmCommands()

    def renamed(self, name: str) -> OpenedArm:
        """This path as the arm of that name."""
        return self._replace(path=replace(self.path, name=name))


class Switch:
    """Switches arms and states, each only if it is not active already."""

    def __init__(self, states: dict[str, tuple[str, ...]]) -> None:
        self._states = states
        self._now: dict[tuple[str, str], tuple[str, ...]] = {}
        self._used: set[tuple[str, str]] = set()

    def arm(self, opened: OpenedArm) -> None:
        """Switch both ends to this arm. Raises EndpointError if a command fails."""
        for end, words in _commands(opened):
            self._bring_about(end, "arm", opened.path.name, words)

    def state(self, opened: OpenedArm, name: str) -> None:
        """Switch the server to a state of the profile; "" is the state in which it was found, the
        first one."""
        if not name and (opened.ends.target.url, "state") in self._used:
            name = next(iter(self._states))
        if name:
            self._bring_about(opened.ends.target, "state", name, self._states[name])

    def back(self, opened: Sequence[OpenedArm]) -> None:
        """Restore every end to how it was found: the first arm and the first state. An end that was
        never switched is left alone. Raises EndpointError if a command fails, but only after all
        were tried."""
        targets = {each.ends.target.url: each for each in reversed(opened)}  # the first arm of each
        with ExitStack() as stack:
            for url, each in targets.items():
                if (url, "state") in self._used:
                    stack.callback(self.state, each, next(iter(self._states)))
                for end, words in _commands(each):
                    if (end.url, "arm") in self._used:
                        stack.callback(self._bring_about, end, "arm", each.path.name, words)

    def _bring_about(self, target: Endpoint, kind: str, name: str, argv: tuple[str, ...]) -> None:
        key = (target.url, kind)
        if not argv or self._now.get(key) == argv:
            return
        self._now.pop(key, None)  # unknown while the command runs, and if it fails
        self._used.add(key)
        ran = target.run(argv, seconds=_SWITCH_SECONDS)
        if ran.code != 0:
            raise EndpointError(f"{kind} {name} could not be set: {failure_words(ran)}")
        self._now[key] = argv


def _commands(opened: OpenedArm) -> tuple[tuple[Endpoint, tuple[str, ...]], ...]:
    """Each end, and the command that switches it to the arm."""
    ends, enter = opened.ends, opened.enter
    return (ends.target, enter.target), (ends.peer, enter.peer)


def failure_words(ran: Ran) -> str:
    """The exit of a program, with the first line of its output."""
    said = one_line(ran.stderr.strip() or ran.stdout)
    how = "was killed" if ran.code is None else f"ended with exit code {ran.code}"
    where = f" at {ran.endpoint}" if ran.endpoint else ""
    return f"`{' '.join(ran.command)}`{where} {how}" + (f": {said}" if said else "")


_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")
_ONLINE = ("nproc",)


class OpenedEndpoints:
    """Endpoints, each opened once, all closed when ``stack`` is left. ``adapters``: access to
    guests, loaded if there is one. ``seed``: for the random choices of engines. ``say``: is told
    news for the user, such as that others measure there. ``patience``: seconds to wait for
    these."""

    def __init__(
        self, stack: ExitStack, adapters: GetAdapters, seed: int = 0,
        say: Say = lambda _text: None, patience: float = TURN_SECONDS,
    ) -> None:  # fmt: skip
        self._stack = stack
        self._adapters = adapters
        self._seed = seed
        self._say = say
        self._patience = patience
        self._open: dict[str, Endpoint] = {}
        self._turns: dict[tuple[str, ...], Endpoint] = {}

    def at(self, url: str) -> Endpoint:
        """The endpoint at that URL. Raises UsageError, MissingExtraError, EndpointError."""
        if url not in self._open:
            endpoint = open_endpoint(url, connect=self._connect)
            self._stack.callback(endpoint.close)
            self._open[url] = endpoint
        return self._open[url]

    def open(self, given: PathOption, profile: Profile, mac: str | None = None) -> OpenedArm:
        """Open a path: an arm of its own name. ``profile``: describes its
        link. ``mac``: the requested NIC of the target; None: the one that is found. Raises
        UsageError, EndpointError."""
        target, peer = self.at(given.target), self.at(given.peer)
        wanted = address_option(given.target)
        address = address_of(target, peer, wanted, mac)
        if wanted is not None and is_host_name(wanted):
            self._say(f"{peer.url} resolves {wanted} to {address}")
        ends = Ends(target, peer, address, self._seed)
        boot = _printed_line(target, _BOOT_ID)
        one_kernel = bool(boot) and boot == _printed_line(peer, _BOOT_ID)
        refuse_local_route(target, peer, address, one_kernel=one_kernel)
        path = _path(given, ends, profile, one_kernel=one_kernel)
        host = self._host(path.hypervisor)
        places = [target, peer] if host is None else [target, peer, host]
        self._take_turns(places)
        domain, machine = domain_of(given.target), self._machine(given.target)
        if machine is not None and domain is not None:
            nic = guest_nic(machine, domain[1], mac or path.mac)
            path = replace(path, guest=machine.name, nic=nic)
        guests = None if host is None else self._guest_host(host)
        return OpenedArm(path, ends, Watch(ends, path, guests, machine), boot)

    def require(self, opened: Iterable[OpenedArm], workloads: Iterable[Workload]) -> None:
        """Raises EndpointError that names every missing program at an end."""
        needs = [load_engine(workload.engine).needs(workload) for workload in workloads]
        for each in opened:
            require_tools(each.ends.target, [tool for need in needs for tool in need.target])
            require_tools(each.ends.peer, [tool for need in needs for tool in need.peer])

    def setups(self, opened: Iterable[OpenedArm]) -> list[Setup]:
        """Setup of each place, hypervisors included: versions and settings."""
        found: dict[str, Setup] = {}
        hosts: dict[str, Path] = {}
        for each in opened:
            target, peer, address = each.ends.target, each.ends.peer, each.ends.address
            if target.url not in found:
                found[target.url] = setup_of(target, address)
            if peer.url not in found:
                found[peer.url] = setup_of(peer, towards=address)
            path = each.path
            if path.domain is not None and path.hypervisor in self._open:
                hosts.setdefault(path.hypervisor, path)
        for url, path in hosts.items():
            found[url] = merged_setup(
                found.get(url), _host_setup(self._guest_host(self._open[url]), path)
            )
        return list(found.values())

    def labels(self, opened: Sequence[OpenedArm]) -> dict[str, str]:
        """Labels of one target: its number of CPUs."""
        targets = {each.path.target: each.ends.target for each in opened}
        if len(targets) != 1:
            return {}
        (target,) = targets.values()
        count = _printed_line(target, _ONLINE)
        return {"vcpus": count} if re.fullmatch(r"[0-9]{1,6}", count) else {}

    def _take_turns(self, places: Sequence[Endpoint]) -> None:
        """Lock each place once: two endpoints may be one, as a node and a pod in its network, which
        cannot see whose lock it is."""
        found = {place_of(each): each for each in places}
        ahead = {place: each for place, each in found.items() if place not in self._turns}
        wait_for_turns(ahead.items(), self._say, self._patience)
        self._turns |= ahead

    def _host(self, url: str | None) -> Endpoint | None:
        """The hypervisor; None if it cannot be reached: then its CPU time is unknown."""
        try:
            return self.at(url) if url else None
        except VnicauditError:
            return None

    def _machine(self, target: str) -> Machine | None:
        """The target's domain, for its name and how long its vCPUs wait; None if it cannot be
        read."""
        domain = domain_of(target)
        if domain is None:
            return None
        try:
            host = self._connect(domain[1], deadline=DEADLINE)
            self._stack.callback(host.close)
            return host.find(domain[0])
        except VnicauditError:
            return None

    def _connect(self, uri: str, *, deadline: float) -> Hypervisor:
        return self._adapters().connect(uri, deadline=deadline)

    def _guest_host(self, host: Endpoint) -> GuestHost:
        return GuestHost(host, self._adapters().command_line)


def prepare_engines(
    profile: Profile, opened: Sequence[OpenedArm], listener: Listener, plugins: BenchPlugins
) -> None:
    """Bring what the workloads need to all ends; remarks are passed to the listener. Raises
    EndpointError if an end is lost, or can never measure one of them."""
    ends = [each.ends for each in opened]
    notes = [plugins.engine(each.engine).prepare(each, ends) for each in profile.workloads]
    for note in dict.fromkeys(filter(None, notes)):
        listener.says(note)


def merged_setup(first: Setup | None, more: Setup) -> Setup:
    """The setup of one place that was read in two ways; where they differ, the first one counts."""
    if first is None:
        return more
    facts = {**more.facts, **first.facts}
    unknown = {**more.unknown, **first.unknown}
    left = {name: why for name, why in unknown.items() if name not in facts}
    return Setup(first.endpoint, facts, left)


def _host_setup(host: GuestHost, path: Path) -> Setup:
    try:
        with readable("what was printed"):
            guest = find_guest(host, path.domain or "", path.mac)
    except (EndpointError, MeasureError):
        guest = None
    return host_setup_of(host.endpoint, guest)


def _path(given: PathOption, ends: Ends, profile: Profile, *, one_kernel: bool) -> Path:
    nic = nic_with(ends.target, ends.address)
    domain = domain_of(given.target)
    hypervisor = None if domain is None else hypervisor_of(given.target)
    return Path(
        name=given.name,
        target=given.target,
        peer=given.peer,
        address=ends.address,
        hypervisor=hypervisor or None,
        domain=domain[0] if domain else None,
        mac=nic.mac if nic else None,
        mtu=nic.mtu if nic else None,
        line_rate=profile.line_rate,
        encapsulation=profile.encapsulation,
        same_host=True if one_kernel else _same_host(given, hypervisor or None),
    )


def _same_host(given: PathOption, hypervisor: str | None) -> bool | None:
    """True if both are the same host; None if unknown: a host that is reached by SSH may be a guest
    of the other one."""
    machines = machine_of(given.target, hypervisor), machine_of(given.peer)
    if None not in machines and machines[0] == machines[1]:
        return True
    guests = [domain_of(url) is not None for url in (given.target, given.peer)]
    return False if None not in machines and all(guests) else None


def _printed_line(endpoint: Endpoint, argv: Sequence[str]) -> str:
    """One line that a program prints there; empty if it fails."""
    try:
        ran = endpoint.run(argv)
    except EndpointError:
        return ""
    return ran.stdout.strip()[:64] if ran.code == 0 else ""
