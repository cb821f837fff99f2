"""What is opened for a path, and what is found at its ends and at the hypervisor."""

from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from tests.adapters import ADAPTERS
from tests.bench.running.fakes import End, profile
from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.endpoints.opening import PathOption
from vnicaudit.bench.facts.guest_process import GuestHost, GuestProcess
from vnicaudit.bench.running import opening
from vnicaudit.bench.running.opening import OpenedEndpoints, merged_setup
from vnicaudit.errors import EndpointError, MeasureError, UsageError
from vnicaudit.model.measurement import Ran, Setup
from vnicaudit.remedy.hypervisor import Adapters, ConnectHypervisor, Hypervisor

GUEST = GuestProcess(7, 1, vhost=True, busy_poll=False)


class Host(End):
    """An end on a machine with that boot id."""

    def __init__(self, url: str, boot: str) -> None:
        super().__init__(url)
        self.boot = boot
        self.closed = 0

    def run(self, argv: Sequence[str], **more: object) -> Ran:
        del more
        return Ran(("cat",), 0, f"{self.url if 'readlink' in argv else self.boot}\n")

    def close(self) -> None:
        self.closed += 1


def no_domain(uri: str, *, deadline: float) -> Hypervisor:
    raise EndpointError(f"no libvirt at {uri} within {deadline}")


def adapters() -> Adapters:
    return ADAPTERS._replace(connect=no_domain)


class World:
    """Hosts by URL; those in ``gone`` cannot be reached."""

    def __init__(self) -> None:
        self.boots: dict[str, str] = {}
        self.gone: set[str] = set()
        self.opened: list[Host] = []
        self.guest: GuestProcess | None = GUEST
        self.looked: list[tuple[str, str, str | None]] = []

    def open(self, url: str, *, connect: ConnectHypervisor) -> Host:
        del connect
        if url in self.gone:
            raise EndpointError(f"{url}: unreachable")
        self.opened.append(Host(url, self.boots.get(url, url)))
        return self.opened[-1]

    def find_guest(self, host: GuestHost, domain: str, mac: str | None) -> GuestProcess | None:
        self.looked.append((host.endpoint.url, domain, mac))
        if domain == "odd":
            raise MeasureError("what ps says cannot be read")
        return self.guest


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()

    def setup(end: Endpoint, address: str | None = None, *, towards: str | None = None) -> Setup:
        return Setup(end.url, {"kernel": "6.1", "nic": f"of {address or towards}"}, {"cpu": "?"})

    def host_setup(end: Endpoint, guest: GuestProcess | None) -> Setup:
        known = {} if guest is None else {"qemu": "7.2", "cpu": "x"}
        return Setup(end.url, {"kernel": "6.1", **known}, {} if guest else {"qemu": "not found"})

    for name, stand_in in {
        "open_endpoint": world.open,
        "address_of": lambda *_: "192.0.2.1",
        "nic_with": lambda *_: None,
        "setup_of": setup,
        "host_setup_of": host_setup,
        "find_guest": world.find_guest,
    }.items():
        monkeypatch.setattr(opening, name, stand_in)
    return world


REMOTE = "agent://web01?connect=qemu+ssh://kvm7/system"


def test_each_place_is_opened_once_and_closed(world: World) -> None:
    with ExitStack() as stack:
        places = OpenedEndpoints(stack, adapters)
        places.open(PathOption("a", "netns://a", "local"), profile())
        places.open(PathOption("b", "netns://b", "local"), profile())
        assert [end.url for end in world.opened] == ["netns://a", "local", "netns://b"]
        assert [end.closed for end in world.opened] == [0, 0, 0]
    assert [end.closed for end in world.opened] == [1, 1, 1]


def test_what_was_opened_is_closed_where_another_cannot_be(world: World) -> None:
    world.gone = {"ssh://gen1"}
    with pytest.raises(EndpointError, match="unreachable"), ExitStack() as stack:
        OpenedEndpoints(stack, adapters).open(PathOption("a", "local", "ssh://gen1"), profile())
    assert [end.closed for end in world.opened] == [1]


def test_engines_draw_by_the_seed(world: World) -> None:
    del world
    with ExitStack() as stack:
        opened = OpenedEndpoints(stack, adapters, 7).open(
            PathOption("a", "netns://a", "local"), profile()
        )
    assert opened.ends.seed == 7


@pytest.mark.parametrize(
    ("target", "peer", "boots", "same"),
    [
        ("netns://a", "local", {}, True),
        ("agent://web01", "local", {}, True),
        ("agent://web01", "agent://web02", {}, True),
        (REMOTE, "ssh://root@kvm7", {}, True),
        (REMOTE, "agent://web02", {}, False),
        (REMOTE, "ssh://gen1", {}, None),
        ("ssh://vm1", "ssh://vm2", {}, None),
        ("ssh://vm1", "local", {}, None),
        ("docker://a", "docker://b", {"docker://a": "x", "docker://b": "x"}, True),
        ("docker://a", "docker://b", {}, None),
        ("agent://web01?connect=qemu+tls://kvm7/system", "ssh://gen1", {}, None),
        ("docker://a", "docker://b", {"docker://a": "", "docker://b": ""}, None),
    ],
)
def test_whether_packets_leave_the_host(
    world: World, target: str, peer: str, boots: dict[str, str], same: bool | None
) -> None:
    world.boots = boots
    with ExitStack() as stack:
        opened = OpenedEndpoints(stack, adapters).open(PathOption("a", target, peer), profile())
    assert opened.path.same_host is same


def test_the_hypervisor_of_a_guest_is_looked_at(world: World) -> None:
    with ExitStack() as stack:
        places = OpenedEndpoints(stack, adapters)
        opened = places.open(PathOption("a", REMOTE, "local"), profile())
        assert opened.path.hypervisor == "ssh://kvm7"
        assert opened.path.domain == "web01"
        setups = {setup.endpoint: setup for setup in places.setups([opened])}
    assert world.looked == [("ssh://kvm7", "web01", None)]
    assert setups["ssh://kvm7"].facts == {"kernel": "6.1", "qemu": "7.2", "cpu": "x"}
    assert list(setups) == [REMOTE, "local", "ssh://kvm7"]


def test_a_hypervisor_that_is_the_peer_keeps_its_nic(world: World) -> None:
    del world
    with ExitStack() as stack:
        places = OpenedEndpoints(stack, adapters)
        opened = places.open(PathOption("a", "agent://web01", "local"), profile())
        setups = {setup.endpoint: setup for setup in places.setups([opened])}
    assert list(setups) == ["agent://web01", "local"]
    assert setups["local"].facts == {
        "kernel": "6.1", "qemu": "7.2", "cpu": "x", "nic": "of 192.0.2.1",
    }  # fmt: skip
    assert setups["local"].unknown == {}


def test_a_guest_that_is_not_found_is_not_known(world: World) -> None:
    world.guest = None
    for domain in ("web01", "odd"):
        with ExitStack() as stack:
            places = OpenedEndpoints(stack, adapters)
            opened = places.open(PathOption("a", f"agent://{domain}", "netns://x"), profile())
            setups = {setup.endpoint: setup for setup in places.setups([opened])}
        assert setups["local"].unknown["qemu"] == "not found"


def test_a_hypervisor_that_cannot_be_reached_is_no_error(world: World) -> None:
    world.gone = {"ssh://kvm7"}
    with ExitStack() as stack:
        places = OpenedEndpoints(stack, adapters)
        opened = places.open(PathOption("a", REMOTE, "local"), profile())
        assert [setup.endpoint for setup in places.setups([opened])] == [REMOTE, "local"]


def test_a_url_that_is_none_opens_nothing(world: World) -> None:
    with pytest.raises(UsageError), ExitStack() as stack:
        OpenedEndpoints(stack, adapters).open(PathOption("a", "local", "foo"), profile())
    assert [end.closed for end in world.opened] == [1] * len(world.opened)


def test_what_was_found_in_two_ways() -> None:
    first = Setup("x", {"a": "1"}, {"b": "?", "c": "?"})
    more = Setup("x", {"a": "2", "b": "3"}, {"d": "?"})
    assert merged_setup(first, more) == Setup("x", {"b": "3", "a": "1"}, {"d": "?", "c": "?"})
    assert merged_setup(None, more) is more


class Domain:
    """A domain of libvirt, which nobody runs."""

    name = "web01"

    def live(self) -> bytes:
        return (
            b'<domain type="kvm"><name>web01</name><devices><interface type="network">'
            b'<mac address="52:54:00:00:00:01"/><source network="default"/>'
            b'<model type="rtl8139"/></interface></devices></domain>'
        )


class Libvirt:
    """A host with one domain, by whichever name."""

    def find(self, name: str) -> Domain:
        assert name == "u-u-i-d"
        return Domain()

    def close(self) -> None:
        """Nothing is open."""


def connect(uri: str, *, deadline: float) -> Hypervisor:
    assert (uri, deadline) == ("qemu:///system", 30.0)
    return Libvirt()  # type: ignore[return-value]


def test_the_guest_of_a_uuid_is_known_by_its_name(world: World) -> None:
    del world
    with ExitStack() as stack:
        opened = OpenedEndpoints(stack, lambda: ADAPTERS._replace(connect=connect)).open(
            PathOption("a", "agent://u-u-i-d", "netns://x"), profile(), "52:54:00:00:00:01"
        )
    path = opened.path
    assert (path.domain, path.guest, path.nic) == ("u-u-i-d", "web01", "rtl8139")
