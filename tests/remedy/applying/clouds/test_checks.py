"""What is looked at when a server is back: by Nova and Neutron, and by its hypervisor."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.applying.clouds.fakes import (
    CONFLICT,
    MODEL,
    SILENT,
    CloudWorld,
    Fault,
    Server,
    server_step,
)
from tests.remedy.applying.fakes import Machine, World, mac_of, uuid_of
from vnicaudit.errors import ActionError, NoResponseError, TargetError
from vnicaudit.model.runs import Check, UnitRun
from vnicaudit.remedy.hypervisor import CloudAccess

TEMPLATE = "qemu+ssh://{host}/system"


class Node(World):
    """A compute node whose domain is what Nova makes of the server whenever it starts it."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder)
        self.uris: list[str] = []
        self._server = server
        (self.domain,) = self.machines
        assert self.domain.uuid == uuid_of(1) == server.id
        self.queues = False

    def follow(self) -> None:
        """Have the domain be as the server is."""
        model = self._server.model
        if model is None:
            self.domain.running = None
        elif self.domain.running is None:
            self.domain.persistent = self._written(model)
            self.domain.boot()

    def _written(self, model: str) -> bytes:
        before = self.before[0]
        more = b"<driver name='vhost' queues='2'/>" if self.queues else b""
        return before.replace(b"<model type='e1000'/>", f"<model type='{model}'/>".encode() + more)


@pytest.fixture
def server(world: CloudWorld) -> Server:
    """One that runs with the model of the fake domain, and has its MAC."""
    (found,) = world.servers
    found.mac = mac_of(1)
    found.kept[MODEL] = "e1000"
    found.boot()
    world.reach = CloudAccess(world.manage, TEMPLATE)
    return found


@pytest.fixture
def node(world: CloudWorld, server: Server, tmp_path: Path) -> Node:
    """Where it runs."""
    found = Node(tmp_path / "node", server)
    found.clock = world.clock

    def connect(uri: str, *, deadline: float) -> Node:
        assert deadline == world.deadline
        found.uris.append(uri)
        return found

    world.adapters = world.adapters._replace(connect=connect)  # type: ignore[arg-type]
    world.looks.append(found.follow)
    found.follow()
    return found


def applied(world: CloudWorld, properties: dict[str, str] | None = None) -> UnitRun:
    """How it went."""
    step = server_step(world.servers[0], properties)
    (unit,) = world.apply((step,), world.context("restart")).run.steps
    return unit


def check(unit: UnitRun, name: str) -> Check:
    """The one of that name."""
    (found,) = [one for one in unit.checks if one.name == name]
    return found


def test_the_hypervisor_shows_the_device_and_its_guest(world: CloudWorld, node: Node) -> None:
    unit = applied(world)
    assert unit.outcome == "applied"
    assert {one.name: one.verdict for one in unit.checks} == {
        "server": "ok", "kept": "ok", "ports": "ok", "device": "ok", "agent": "ok",
        "qemu": "unknown", "guest": "ok", "address": "ok", "traffic": "unknown",
    }  # fmt: skip
    assert node.uris == ["qemu+ssh://cmp1/system"]
    assert b"<model type='virtio'/>" in (node.domain.running or b"")


def test_what_nova_keeps_is_not_what_runs(
    world: CloudWorld, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something writes another model than the one that is kept."""
    monkeypatch.setattr(node, "_written", lambda _model: node.before[0])
    unit = applied(world)
    assert unit.outcome == "rolled-back"
    assert unit.message == (
        "model of 52:54:00:00:01:01 is e1000, not virtio; it was put back; the server was off for "
        "it, 22 s from stop to start"
    )
    assert world.servers[0].model == "e1000"


def test_what_is_kept_already_and_does_not_run_is_no_success(
    world: CloudWorld, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resize brought the old model back, and Nova says nothing of it."""
    step = server_step(world.servers[0])
    world.servers[0].kept[MODEL] = "virtio"
    (unit,) = world.apply((step,), world.context("restart")).run.steps
    assert unit.outcome == "refused"
    assert unit.message == (
        "Nova already keeps hw_vif_model=virtio for it, but 52:54:00:00:01:01 runs as "
        "e1000: a hard reboot makes Nova rewrite it: openstack --os-cloud test server "
        f"reboot --hard {uuid_of(1)}"
    )
    assert not {"stop", "start", "hard_reboot", "set"} & set(world.calls)
    node.domain.running = None
    monkeypatch.setattr(
        node, "_written", lambda _model: node.before[0].replace(b"e1000", b"virtio")
    )
    node.follow()
    (unit,) = world.apply((step,), world.context("restart")).run.steps
    assert unit.outcome == "already"


def test_a_guest_whose_agent_does_not_come_back(world: CloudWorld, node: Node) -> None:
    """Nova counts packets, and still the guest has not its interface."""
    node.domain.driverless = True
    unit = applied(world)
    assert unit.outcome == "rolled-back"
    assert (
        "the guest has no interface with 52:54:00:00:01:01: does it have the driver?"
    ) in unit.message
    assert world.servers[0].model == "e1000"


@pytest.mark.parametrize("queues", [True, False])
def test_multiqueue_is_seen_in_the_definition(
    world: CloudWorld, node: Node, *, queues: bool
) -> None:
    node.queues = queues
    properties = {MODEL: "virtio", "hw_vif_multiqueue_enabled": "true"}
    unit = applied(world, properties)
    assert unit.outcome == "applied"
    found = check(unit, "queues")
    assert found.verdict == ("ok" if queues else "unknown")
    words = "has 2 queue pairs" if queues else "none if virt_type is not kvm"
    assert words in found.detail


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TargetError("cannot connect: no route to host", file="qemu+ssh://cmp1/system"),
         "qemu+ssh://cmp1/system: cannot connect: no route to host"),
        (NoResponseError("libvirt did not answer"), "libvirt did not answer"),
    ],
)  # fmt: skip
def test_a_node_that_cannot_be_reached_is_no_failure(
    world: CloudWorld, server: Server, error: Exception, words: str
) -> None:
    def fails(_uri: str, **_deadline: float) -> object:
        raise error

    world.adapters = world.adapters._replace(connect=fails)  # type: ignore[arg-type]
    unit = applied(world)
    assert unit.outcome == "applied"
    assert check(unit, "device") == Check("device", "unknown", words)
    assert check(unit, "traffic").verdict == "ok"
    assert server.model == "virtio"


def test_a_node_that_falls_silent_afterwards_is_no_failure(
    world: CloudWorld, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Machine.live

    def live(one: Machine) -> bytes:
        if world.servers[0].kept[MODEL] == "virtio":
            raise NoResponseError("libvirt did not answer")
        return real(one)

    monkeypatch.setattr(Machine, "live", live)
    unit = applied(world)
    assert unit.outcome == "applied"
    assert check(unit, "device").detail == "libvirt did not answer"
    assert node.uris == ["qemu+ssh://cmp1/system"]


def test_a_domain_that_is_elsewhere(
    world: CloudWorld, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_uuid: str) -> Machine:
        raise ActionError("cannot find domain")

    monkeypatch.setattr(node, "machine", gone)
    assert check(applied(world), "device").detail == "cannot find domain"


@pytest.mark.parametrize("name", ["", "-oProxyCommand=x", "a b", "x/../y", "h@o"])
def test_the_name_of_a_host_is_a_name(world: CloudWorld, node: Node, name: str) -> None:
    world.shown_as = {"host": name}
    assert check(applied(world), "device").detail == "the name of its host is not a valid host name"
    assert node.uris == []


def test_a_user_who_is_told_nothing(world: CloudWorld, server: Server) -> None:
    """No host, no packets: what is left is what Nova says of the server itself."""
    world.says_packets = False
    world.reach = CloudAccess(world.manage)
    unit = applied(world)
    assert unit.outcome == "applied"
    assert check(unit, "device").detail.endswith("set VNICAUDIT_LIBVIRT_OF_HOST")
    assert check(unit, "traffic") == Check(
        "traffic", "unknown",
        (
            "Nova reports no packet counts: this user may not ask for diagnostics, or the "
            "compute node is too old to report them"
        ),
    )  # fmt: skip
    assert server.model == "virtio"


def test_an_answer_on_packets_that_is_lost_ends_the_run_and_not_the_check(
    world: CloudWorld, server: Server
) -> None:
    """Whether its guest is there is not known: no success, and no reason to take it back."""
    world.reach = CloudAccess(world.manage)
    world.faults["sent"] = Fault(SILENT, "before", 1, 2)
    step = server_step(server)
    done = world.apply((step,), world.context("restart"))
    (unit,) = done.run.steps
    assert done.stopped.startswith(str(SILENT))
    assert (unit.outcome, unit.checks) == ("unfinished", ())
    assert (server.model, world.calls.count("stop")) == ("virtio", 1)
    (unit,) = world.apply((step,), world.context("restart")).run.steps
    assert (unit.outcome, check(unit, "traffic").verdict) == ("applied", "ok")
    assert world.calls.count("stop") == 1


def test_packets_that_are_refused_are_unknown(world: CloudWorld, server: Server) -> None:
    world.reach = CloudAccess(world.manage)
    world.faults["sent"] = Fault(CONFLICT, "before", None, 2)
    unit = applied(world)
    assert (unit.outcome, check(unit, "traffic").verdict) == ("applied", "unknown")
    assert server.model == "virtio"


def test_what_sent_nothing_before_is_not_waited_for(world: CloudWorld, server: Server) -> None:
    server.boot(1000.0)
    server.driverless = True
    unit = applied(world)
    assert unit.outcome == "applied"
    assert check(unit, "traffic").verdict == "unknown"


def test_a_port_that_stays_down(
    world: CloudWorld, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = world.ports

    def ports(server_id: str) -> object:
        found = real(server_id)
        if server.kept[MODEL] == "virtio":
            return tuple(replace(port, status="DOWN") for port in found)
        return found

    monkeypatch.setattr(world, "ports", ports)
    unit = applied(world)
    assert unit.outcome == "rolled-back"
    assert unit.message == (
        "port port-server-1 is DOWN; it was put back; the server was off for it, 22 s from stop to "
        "start"
    )
    assert server.model == "e1000"


def test_nova_manage_is_asked_once_though_the_guest_is_waited_for(world: CloudWorld) -> None:
    """It takes four seconds each time."""
    (server,) = world.servers
    server.boot()
    world.says_kept, server.driverless = False, True
    world.apply((server_step(server),), world.context("restart"))
    started = world.calls.index("start")
    # once to verify it; then to see what is to be put back, and that nova-manage works
    assert world.calls[started : started + 5] == ["start", "show", "show", "show", "stop"]
