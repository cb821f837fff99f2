"""One measurement beside the old NIC, but for the measuring."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Interface
from pathlib import Path as Folder
from typing import Any

import pytest

from tests.bench.running.fakes import Engine, Watching, plugins
from tests.bench.silent import SilentListener
from tests.bench.trials.shadow_fakes import OLD, SHADOW, UUID, World, definition, installed, note
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.endpoints.paths import PathOption
from vnicaudit.bench.facts.validity import ValidityLimits
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.arms import Arm, OpenedArm
from vnicaudit.bench.running.opening import LineFacts
from vnicaudit.bench.trials.flips import FlippedNic
from vnicaudit.bench.trials.request import TrialRequest
from vnicaudit.bench.trials.shadow import Shadow
from vnicaudit.bench.trials.shadow_notes import ShadowNote, ShadowNotes
from vnicaudit.errors import EndpointError, RefusedError
from vnicaudit.model.machine import Traffic
from vnicaudit.model.measurement import BenchResult, Path, Ran, Workload

_WORK = Workload(id="tcp", engine="iperf3", pattern="tcp", decides=("goodput",))
_PROFILE = Profile(
    name="mine", title="", workloads=(_WORK,), looks=(2,), alphas=(0.05,), cooldown=0.0,
    guards=("counters",), turns=(2,), runs_per_turn=1,
)  # fmt: skip


class Peer:
    """Reaches the guest's temporary address when the guest has it, unless it is ``cut_off``."""

    url = "local"

    def __init__(self, world: World) -> None:
        self._world = world
        self.cut_off = False

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        del seconds, stdin
        if argv[0] != "ping":
            return Ran(tuple(argv), 0)  # all programs are there
        held = [one for all_ in self._world.guest.addresses.values() for one in all_]
        reached = f"{argv[-1]}/32" in held and not self.cut_off
        return Ran(tuple(argv), 0 if reached else 1)


class Places:
    """Opens what is asked for. ``opened``: which paths, and which NICs."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.opened: list[tuple[str, str, str | None]] = []

    def __call__(self, _stack: object, _adapters: object, _seed: int, _say: object) -> Places:
        return self

    def open(self, given: PathOption, _line: LineFacts, mac: str | None = None) -> OpenedArm:
        self.opened.append((given.name, given.target, mac))
        address = given.target.partition("&address=")[2]
        path = Path(name=given.name, target=given.target, peer=given.peer, address=address)
        peer: Any = self._peer
        watch: Any = Watching()
        return OpenedArm(Arm(given.name, path), Ends(peer, peer, address), watch)

    def require(self, _opened: Iterable[OpenedArm], _workloads: Iterable[Workload]) -> None:
        """All is there."""

    def setups(self, _opened: Iterable[OpenedArm]) -> list[Any]:
        return []

    def labels(self, opened: Iterable[OpenedArm]) -> dict[str, str]:
        assert [one.arm.path.address for one in opened] == ["192.0.2.9"]
        return {"vcpus": "2"}


class Made(Shadow):
    """One whose MAC is known."""

    def _new_mac(self) -> str:
        assert re.fullmatch(r"52:54:00:f[0-9a-f](:[0-9a-f]{2}){2}", super()._new_mac())
        return SHADOW

    def _tap(self, _note: ShadowNote) -> str:
        return "vnet1"


class Trial:
    """All of it. ``during``: is called at the first run."""

    def __init__(self, state: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = state
        self.world = installed(World(), monkeypatch)
        self.world.counts = {"vnet0": Traffic(0, 0), "vnet1": Traffic(0, 0)}
        self.peer = Peer(self.world)
        self.places = Places(self.peer)
        self.goal = definition("virtio").replace(b"vnet0", b"vnet1")
        self.during: Callable[[], None] = lambda: None
        self.engine = Engine(self._outcome)

    def measure(self, address: str = "192.0.2.9/24", profile: Profile = _PROFILE) -> BenchResult:
        order = TrialRequest(
            profile=profile, peer="local", line=LineFacts(), seed=1, limits=ValidityLimits(),
            undecided="roll-back", state=self.state, listener=SilentListener(),
            adapters=lambda: self.world.adapters, plugins=plugins(self.engine),
            opening=self.places,
        )  # fmt: skip
        guest = FlippedNic("qemu:///system", UUID, OLD)
        return Made(
            order, guest, self.world, self.goal, IPv4Interface(address), self.world.tell
        ).measure()

    def _outcome(self, _workload: Workload, _ends: Ends, number: int) -> float:
        count = 100_000 * number
        self.world.counts["vnet1"] = Traffic(count, count)
        self.during()
        return 1e9


@pytest.fixture
def trial(tmp_path: Folder, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return Trial(tmp_path, monkeypatch)


def test_both_are_measured_in_turns_and_all_is_as_it_was(trial: Trial) -> None:
    before, live = trial.world.guest.state(), trial.world.live()
    result = trial.measure()
    arms = [one.arm for one in result.samples]
    assert (result.run.design, result.run.labels) == ("shadow", {"vcpus": "2"})
    assert arms == ["before", "after", "after", "before"]
    assert {rail.detail for rail in result.guard_rails} == {
        "all arms of a target share its counters"
    }
    target = f"agent://{UUID}?connect=qemu:///system"
    assert trial.places.opened == [
        ("before", f"{target}&address=192.0.2.1", OLD),  # is not measured
        *((arm, f"{target}&address=192.0.2.9", SHADOW) for arm in arms),
    ]
    assert (trial.world.guest.state(), trial.world.live()) == (before, live)
    assert list(ShadowNotes(trial.state).every_note()) == []
    assert trial.world.told == [
        words for arm in arms
        for words in ((
            f"plugging the shadow NIC {SHADOW} in, {arm}"
        ), "the shadow NIC is removed again")
    ]  # fmt: skip


def test_every_turn_is_a_plug_of_what_is_and_of_what_is_planned(trial: Trial) -> None:
    """The NIC that serves is never measured: it could not be plugged in again."""
    seen: list[bytes] = []
    trial.during = lambda: seen.append(trial.world.live())
    result = trial.measure()
    arms = [one.arm for one in result.samples]
    for arm, running in zip(arms, seen[::2], strict=True):  # a warm-up, and a run
        assert running.count(b"<interface ") == 2
        assert running.count(b"<model type='virtio'/>") == (arm == "after")
        assert running.count(b"<model type='e1000'/>") == 2 - (arm == "after")
        assert running.count(b"<target ") == 1, "libvirt chooses the tap of a shadow"
    assert sum("behind attach" in place for place in trial.world.passed) == 4


def test_a_port_of_a_switch_now(trial: Trial) -> None:
    port = b"<virtualport type='openvswitch'/></interface>"
    trial.world.running = trial.world.persistent.replace(b"</interface>", port)
    _refused(trial, "a second NIC would need its own port")


def test_an_error_while_it_measures(trial: Trial) -> None:
    before, live = trial.world.guest.state(), trial.world.live()

    def lost() -> None:
        raise EndpointError("the peer is lost")

    trial.during = lost
    with pytest.raises(EndpointError, match="the peer is lost"):
        trial.measure()
    assert (trial.world.guest.state(), trial.world.live()) == (before, live)


def test_a_peer_that_does_not_reach_it(trial: Trial) -> None:
    before, live = trial.world.guest.state(), trial.world.live()
    trial.peer.cut_off = True
    with pytest.raises(EndpointError, match=r"^local cannot reach the shadow NIC at 192.0.2.9"):
        trial.measure()
    assert (trial.world.guest.state(), trial.world.live()) == (before, live)
    assert trial.engine.runs == []


def _refused(trial: Trial, reason: str, **given: Any) -> None:
    before, live = trial.world.guest.state(), trial.world.live()
    with pytest.raises(RefusedError, match=reason):
        trial.measure(**given)
    assert (trial.world.guest.state(), trial.world.live()) == (before, live)
    assert not any("attach" in place for place in trial.world.passed)


def test_one_that_is_still_there(trial: Trial) -> None:
    ShadowNotes(trial.state).write(note())
    _refused(trial, f"^the shadow NIC {SHADOW} of an earlier run is still there$")


def test_an_address_elsewhere(trial: Trial) -> None:
    _refused(trial, "is not in a network of", address="198.51.100.9/24")


def test_an_address_in_use(trial: Trial) -> None:
    trial.world.guest.answering = {"192.0.2.9"}
    _refused(trial, "in use: it answers ping")


def test_a_port_of_a_switch(trial: Trial) -> None:
    port = b"<virtualport type='openvswitch'/></interface>"
    trial.goal = trial.goal.replace(b"</interface>", port)
    _refused(trial, "a second NIC would need its own port")


def test_a_nic_that_is_not_planned(trial: Trial) -> None:
    trial.goal = trial.goal.replace(OLD.encode(), b"52:54:00:00:00:07")
    _refused(trial, f"^the definition does not have exactly one NIC {OLD}$")


def test_what_stays_undecided_was_never_made() -> None:
    reasons = decide([], Terms(design="shadow")).reasons
    assert "undecided: the change is not made, as requested" in reasons
