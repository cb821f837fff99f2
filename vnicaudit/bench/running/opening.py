"""Open what a measurement needs: both ends of each path, and what can be known of the host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint, Ends, Tool
from vnicaudit.bench.endpoints.addresses import address_of
from vnicaudit.bench.endpoints.opening import address_option, open_endpoint
from vnicaudit.bench.endpoints.tools import require
from vnicaudit.bench.engine_registry import load
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.bench.facts.guest_process import find_guest
from vnicaudit.bench.facts.host_setup import host_setup_of
from vnicaudit.bench.facts.nic import nic_with
from vnicaudit.bench.facts.setup import setup_of
from vnicaudit.bench.facts.vcpu_delay import Delays
from vnicaudit.bench.paths import GivenPath, domain_of, hypervisor_of, machine_of
from vnicaudit.bench.readable import readable
from vnicaudit.bench.running.arms import Arm, Opened
from vnicaudit.errors import EndpointError, MeasureError, VnicauditError
from vnicaudit.model.host import DEADLINE
from vnicaudit.model.measurement import Path, Setup, Workload
from vnicaudit.remedy.hypervisor import connect

_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")
_ONLINE = ("nproc",)


class Line(NamedTuple):
    """What is known of the wire: bit/s of the slowest physical link, and what packets are wrapped
    in on it. ``hypervisor``: endpoint URL of the guest's host, in the place of what the target's
    URL says; empty: none."""

    rate: float | None = None
    encapsulation: str = "none"
    hypervisor: str | None = None


class Places:
    """Endpoints, each opened once, all closed when ``stack`` is left. ``seed``: for what engines
    draw by chance."""

    def __init__(self, stack: ExitStack, seed: int = 0) -> None:
        self._stack = stack
        self._seed = seed
        self._open: dict[str, Endpoint] = {}

    def at(self, url: str) -> Endpoint:
        """Raises UsageError, MissingExtraError, EndpointError."""
        if url not in self._open:
            endpoint = open_endpoint(url)
            self._stack.callback(endpoint.close)
            self._open[url] = endpoint
        return self._open[url]

    def open(self, given: GivenPath, line: Line, mac: str | None = None) -> Opened:
        """A path, ready: an arm of its own name. ``mac``: the target's NIC that is meant; None:
        the one that is found. Raises UsageError, EndpointError."""
        target, peer = self.at(given.target), self.at(given.peer)
        address = address_of(target, peer, address_option(given.target), mac)
        ends = Ends(target, peer, address, self._seed)
        boot = _said(target, _BOOT_ID)
        path = _path(given, ends, line, one_kernel=bool(boot) and boot == _said(peer, _BOOT_ID))
        host = self._host(path.hypervisor, asked_for=bool(line.hypervisor))
        return Opened(
            Arm(given.name, path), ends, Watch(ends, path, host, self._machine(given.target)), boot
        )

    def require(self, opened: Iterable[Opened], workloads: Iterable[Workload]) -> None:
        """Raises EndpointError that names every program that is missing at an end."""
        needs = [load(workload.engine).needs(workload) for workload in workloads]
        for each in opened:
            require(each.ends.target, _once(tool for need in needs for tool in need.target))
            require(each.ends.peer, _once(tool for need in needs for tool in need.peer))

    def setups(self, opened: Iterable[Opened]) -> list[Setup]:
        """What is found at each place, hypervisors included: versions and settings."""
        found: dict[str, Setup] = {}
        hosts: dict[str, Path] = {}
        for each in opened:
            target, peer, address = each.ends.target, each.ends.peer, each.ends.address
            if target.url not in found:
                found[target.url] = setup_of(target, address)
            if peer.url not in found:
                found[peer.url] = setup_of(peer, towards=address)
            path = each.arm.path
            if path.domain is not None and path.hypervisor in self._open:
                hosts.setdefault(path.hypervisor, path)
        for url, path in hosts.items():
            found[url] = both(found.get(url), _host_setup(self._open[url], path))
        return list(found.values())

    def labels(self, opened: Sequence[Opened]) -> dict[str, str]:
        """Of one target: its number of CPUs."""
        targets = {each.arm.path.target: each.ends.target for each in opened}
        if len(targets) != 1:
            return {}
        (target,) = targets.values()
        count = _said(target, _ONLINE)
        return {"vcpus": count} if re.fullmatch(r"[0-9]{1,6}", count) else {}

    def _host(self, url: str | None, *, asked_for: bool) -> Endpoint | None:
        """The hypervisor; None where it cannot be reached: then its CPU time is not known. Raises
        UsageError, EndpointError for one that was asked for."""
        try:
            return self.at(url) if url else None
        except VnicauditError:
            if asked_for:
                raise
            return None

    def _machine(self, target: str) -> Delays | None:
        """The target's domain, to be asked how long its vCPUs wait; None where that cannot be."""
        domain = domain_of(target)
        if domain is None:
            return None
        try:
            host = connect(domain[1], deadline=DEADLINE)
            self._stack.callback(host.close)
            return host.find(domain[0])
        except VnicauditError:
            return None


def both(first: Setup | None, more: Setup) -> Setup:
    """What was found at one place in two ways; where they differ, in the first one."""
    if first is None:
        return more
    facts = {**more.facts, **first.facts}
    unknown = {**more.unknown, **first.unknown}
    left = {name: why for name, why in unknown.items() if name not in facts}
    return Setup(first.endpoint, facts, left)


def _host_setup(host: Endpoint, path: Path) -> Setup:
    try:
        with readable("what was printed"):
            guest = find_guest(host, path.domain or "", path.mac)
    except (EndpointError, MeasureError):
        guest = None
    return host_setup_of(host, guest)


def _path(given: GivenPath, ends: Ends, line: Line, *, one_kernel: bool) -> Path:
    nic = nic_with(ends.target, ends.address)
    domain = domain_of(given.target)
    hypervisor = None
    if domain is not None:
        hypervisor = hypervisor_of(given.target) if line.hypervisor is None else line.hypervisor
    return Path(
        name=given.name,
        target=given.target,
        peer=given.peer,
        address=ends.address,
        hypervisor=hypervisor or None,
        domain=domain[0] if domain else None,
        mac=nic.mac if nic else None,
        mtu=nic.mtu if nic else None,
        line_rate=line.rate,
        encapsulation=line.encapsulation,
        same_host=True if one_kernel else _same_host(given, hypervisor or None),
    )


def _same_host(given: GivenPath, hypervisor: str | None) -> bool | None:
    """None where it cannot be told: a host that is reached by SSH may be a guest of the other
    one."""
    machines = machine_of(given.target, hypervisor), machine_of(given.peer)
    if None not in machines and machines[0] == machines[1]:
        return True
    guests = [domain_of(url) is not None for url in (given.target, given.peer)]
    return False if None not in machines and all(guests) else None


def _said(endpoint: Endpoint, argv: Sequence[str]) -> str:
    """One line that a program prints there; empty where it does not."""
    try:
        ran = endpoint.run(argv)
    except EndpointError:
        return ""
    return ran.stdout.strip()[:64] if ran.code == 0 else ""


def _once(tools: Iterable[Tool]) -> list[Tool]:
    return list({tool.program: tool for tool in tools}.values())
