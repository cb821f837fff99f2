"""What speaks against a shadow NIC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Interface

import pytest

from tests.adapters import ADAPTERS
from tests.bench.trials.shadow_fakes import URI, World, installed
from vnicaudit.bench.contract import StartedProgram
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.trials.shadow_checks import (
    bound_to_address,
    check_free,
    check_nic,
    old_address,
    temporary_address,
)
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.measurement import Ran, Workload
from vnicaudit.model.nic import Nic

_WANTED = IPv4Interface("192.0.2.9/24")
_BRIDGE = "<interface type='bridge'><source bridge='br0'/>{}</interface>"


def test_a_temporary_address() -> None:
    assert temporary_address("192.0.2.9/24") == _WANTED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not an address with prefix length"),
        ("web", "is not an address with prefix length"),
        ("192.0.2.9/33", "is not an address with prefix length"),
        ("192.0.2.9", "add the prefix length of its network"),
        ("192.0.2.9/31", "add the prefix length of its network"),
        ("2001:db8::9/64", "is measured over IPv4 only"),
        ("192.0.2.0/24", "is the address of a network"),
        ("192.0.2.255/24", "is the address of a network"),
    ],
)
def test_what_is_no_temporary_address(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        temporary_address(text)


def test_the_nics_address_in_that_network() -> None:
    has = ["fe80::1/64", "198.51.100.4/24", "192.0.2.1/24", "192.0.2.2/24"]
    assert old_address(has, _WANTED, "mac") == "192.0.2.1"


@pytest.mark.parametrize(
    ("has", "reason"),
    [
        ([], "192.0.2.9/24 is not in a network of mac, which has no IPv4 address"),
        (["fe80::1/64"], "192.0.2.9/24 is not in a network of mac, which has no IPv4 address"),
        (["192.0.2.1/25"], "192.0.2.9/24 is not in a network of mac, which has 192.0.2.1/25"),
        (["192.0.2.9/24"], "192.0.2.9 is already an address of mac"),
    ],
)
def test_an_address_elsewhere(has: list[str], reason: str) -> None:
    with pytest.raises(RefusedError, match=f"^{re.escape(reason)}$"):
        old_address(has, _WANTED, "mac")


def _nic(interface: str) -> tuple[Nic, dict[str, str]]:
    data = f"<domain type='kvm'><name>a</name><devices>{interface}</devices></domain>".encode()
    reading = ADAPTERS.texts.reading
    return reading.definition_of(data, URI).nics[0], reading.children_of(data, 1)


@pytest.mark.parametrize(
    "interface",
    [
        _BRIDGE.format(""),
        _BRIDGE.format("<filterref filter='clean-traffic'/><bandwidth/><port isolated='yes'/>"),
        "<interface type='network'><source network='default'/></interface>",
        "<interface type='direct'><source dev='eno1' mode='bridge'/></interface>",
    ],
)
def test_a_nic_that_may_be_there_twice(interface: str) -> None:
    nic, children = _nic(interface)
    check_nic(nic, nic, children)


@pytest.mark.parametrize(
    ("interface", "reason"),
    [
        (_BRIDGE.format("<virtualport type='openvswitch'/>"), "its own port in the virtual"),
        (_BRIDGE.format("<teaming type='persistent'/>"), "one half of a team"),
        (_BRIDGE.format("<link state='down'/>"), "its link is down in the definition"),
        ("<interface type='vdpa'><source dev='/dev/vhost-vdpa-0'/></interface>", "of type vdpa"),
        ("<interface type='vhostuser'/>", "of type vhostuser"),
        ("<interface type='hostdev'/>", "of type hostdev"),
        ("<interface type='user'/>", "of type user"),
        ("<interface type='ethernet'/>", "of type ethernet"),
        (
            "<interface type='direct'><source dev='eno1' mode='passthrough'/></interface>",
            "macvtap in mode passthrough takes one NIC",
        ),
    ],
)
def test_a_nic_that_cannot_be_there_twice(interface: str, reason: str) -> None:
    nic, children = _nic(interface)
    with pytest.raises(RefusedError, match=reason):
        check_nic(nic, nic, children)


def test_the_nic_that_runs_counts_too() -> None:
    goal, children = _nic(_BRIDGE.format(""))
    runs, _ = _nic("<interface type='hostdev'/>")
    with pytest.raises(RefusedError, match="of type hostdev"):
        check_nic(runs, goal, children)
    with pytest.raises(RefusedError, match="the running guest has no such NIC"):
        check_nic(None, goal, children)


class _Peer:
    """An endpoint from which some addresses answer ping."""

    url = "local"

    def __init__(self, *answering: str) -> None:
        self._answering = answering

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        del seconds, stdin
        return Ran(tuple(argv), 0 if argv[-1] in self._answering else 1)

    def start(self, argv: Sequence[str], *, seconds: float) -> StartedProgram:
        raise NotImplementedError

    def put_file(self, name: str, data: bytes) -> str:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return installed(World(), monkeypatch)


@pytest.mark.parametrize("state", ["STALE", "DELAY", "PROBE", "FAILED", "INCOMPLETE"])
def test_a_free_address(world: World, state: str) -> None:
    """One that was answered for some time ago may be free again."""
    world.guest.neighbours = [{"dst": "192.0.2.9", "lladdr": "52:54:00:00:00:09", "state": [state]}]
    check_free(world.agent, _Peer("192.0.2.1"), _WANTED)


def test_an_address_that_answers(world: World) -> None:
    with pytest.raises(RefusedError, match=r"^192.0.2.9 is in use: it answers ping$"):
        check_free(world.agent, _Peer("192.0.2.9"), _WANTED)
    world.guest.answering = {"192.0.2.9"}
    with pytest.raises(RefusedError, match=r"^192.0.2.9 is in use: it answers ping$"):
        check_free(world.agent, _Peer(), _WANTED)


def test_an_address_that_answers_arp_alone(world: World) -> None:
    world.guest.neighbours = [
        {"dst": "192.0.2.9", "lladdr": "52:54:00:00:00:09", "state": ["REACHABLE"]}
    ]
    with pytest.raises(RefusedError, match="in use: 52:54:00:00:00:09 has it"):
        check_free(world.agent, _Peer(), _WANTED)


def test_a_guest_that_cannot_say(world: World) -> None:
    world.guest.fails["neigh",] = "no"
    with pytest.raises(RefusedError, match="install iproute2"):
        check_free(world.agent, _Peer(), _WANTED)


def _profile(engine: str, pattern: str) -> Profile:
    work = Workload(id="work", engine=engine, pattern=pattern, decides=("goodput",))
    return Profile(name="mine", title="", workloads=(work,), looks=(5,), alphas=(0.05,))


def test_iperf3_is_bound_to_the_address_that_is_measured() -> None:
    (workload,) = bound_to_address(_profile("iperf3", "udp-pps")).workloads
    assert workload.options == {"bind": "yes"}
    other = _profile("netperf", "TCP_RR")
    assert bound_to_address(other) == other
