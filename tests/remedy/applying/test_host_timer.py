"""A change that may cut the way to its host: undone by the host's own timer unless a new connection
confirms it, whichever answer is lost and wherever the program ends."""

import hashlib
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.applying.fakes import Killed
from tests.remedy.applying.settings_host import (
    FACTS,
    RPS,
    TARGET,
    TX,
    SettingsWorld,
    settings_world,
    step_to,
)
from vnicaudit.knowledge.host_links import may_manage
from vnicaudit.model.host_facts import HostFacts, HostLink, Ovs, Tunnel
from vnicaudit.model.runs import UnitRun
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.events import Arming
from vnicaudit.remedy.applying.journal.past_run import read_run
from vnicaudit.remedy.applying.runner import RunResult

UNKNOWN_WAY = replace(FACTS, managed_by=None)
DEADLINE = 60


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsWorld:
    return guarded_world(tmp_path, monkeypatch)


def guarded_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsWorld:
    """A host of which nobody knows by which device it is reached."""
    world = settings_world(folder, monkeypatch)
    world.host.at_first = world.host.now = UNKNOWN_WAY
    return world


def applied(world: SettingsWorld, field: str = TX, value: str = "off") -> RunResult:
    return world.apply((step_to(UNKNOWN_WAY, TARGET, {field: value}),), world.context())


def only(result: RunResult) -> UnitRun:
    (unit,) = result.run.steps
    return unit


def test_confirmed_in_time(world: SettingsWorld) -> None:
    unit = only(applied(world))
    assert (unit.outcome, unit.message) == ("applied", "until the next boot")
    (timer,) = world.host.timers.values()
    assert timer.state == "disarmed"
    assert world.passed.index("behind line arming") < world.passed.index("before arming")
    assert world.passed.index("behind arming") < world.passed.index("before line setting")
    world.clock.sleep(DEADLINE + 2)
    assert world.host.facts() != UNKNOWN_WAY
    (back,) = world.rollback(world.context())
    assert (only(back).outcome, world.host.now) == ("applied", UNKNOWN_WAY)
    assert len(world.host.timers) == 2


def test_the_journal_has_the_digest_of_what_the_host_runs(world: SettingsWorld) -> None:
    applied(world)
    ((name, timer),) = world.host.timers.items()
    (run,) = runs(str(world.folder))
    past = read_run(world.folder / "runs" / run.id)
    assert past is not None
    events = (entry.event for entry in past.of(past.request.units[0].key))
    (armed,) = (event for event in events if isinstance(event, Arming))
    digest = hashlib.sha256(timer.script.encode()).hexdigest()
    assert (armed.timer, armed.digest, armed.seconds) == (name, digest, DEADLINE)
    assert f"{TX}=on\n" in timer.script


def test_the_change_cuts_the_way(world: SettingsWorld) -> None:
    world.host.cut_by = TX
    began = world.clock.seconds
    unit = only(applied(world))
    assert (unit.outcome, unit.message) == (
        "failed",
        "undone by the host: no answer within 5 s; its settings are as before",
    )
    assert world.host.now == UNKNOWN_WAY
    assert world.clock.seconds < began + DEADLINE + 15


@pytest.mark.parametrize(
    ("answer", "outcome"), [("arm", "unfinished"), ("set", "failed"), ("disarm", "applied")]
)
def test_an_answer_is_lost(world: SettingsWorld, answer: str, outcome: str) -> None:
    world.host.loses = {answer}
    assert only(applied(world)).outcome == outcome
    assert (world.host.now == UNKNOWN_WAY) is (outcome != "applied")
    if outcome == "unfinished":
        assert only(applied(world)).outcome == "applied"
    world.clock.sleep(DEADLINE + 2)
    assert world.host.facts() == world.host.now


@pytest.mark.parametrize("place", [f"behind {TX}", "before disarming"])
def test_the_timer_is_faster_than_the_confirmation(world: SettingsWorld, place: str) -> None:
    world.at_place[place] = lambda: world.clock.sleep(DEADLINE)
    unit = only(applied(world))
    assert (unit.outcome, world.host.now) == ("failed", UNKNOWN_WAY)
    assert unit.message.startswith("undone by the host: ")


def test_a_setting_is_not_set_when_the_timer_has_ended(world: SettingsWorld) -> None:
    world.at_place[f"before {TX}"] = lambda: world.clock.sleep(DEADLINE)
    unit = only(applied(world))
    assert (unit.outcome, world.host.now) == ("failed", UNKNOWN_WAY)
    assert unit.message.startswith("undone by the host: the timer ended")


def test_a_key_that_open_vswitch_keeps_is_set_back_after_a_boot(world: SettingsWorld) -> None:
    mask = "ovs::pmd-cpu-mask"
    world.host.at_first = world.host.now = before = replace(UNKNOWN_WAY, ovs=Ovs(other_config={}))
    world.at_place[f"behind {mask}"] = world.host.restart
    step = step_to(before, TARGET, {mask: "0x2"})
    unit = only(world.apply((step,), world.context()))
    assert (unit.outcome, world.host.now) == ("failed", before)
    assert unit.message.endswith("; its settings are as before")


def test_a_host_that_takes_too_long_to_arm_is_left(world: SettingsWorld) -> None:
    world.at_place["behind arming"] = lambda: world.clock.sleep(DEADLINE / 2 + 1)
    unit = only(applied(world))
    assert unit.outcome == "failed"
    assert "too long to start its timer; its settings are as before" in unit.message
    assert f"before {TX}" not in world.passed


def test_without_a_timer_nothing_is_changed(world: SettingsWorld) -> None:
    world.host.refuses = {"timers": 1}
    unit = only(applied(world))
    assert (unit.outcome, world.host.now) == ("failed", UNKNOWN_WAY)
    assert "there is no setsid; its settings are as before" in unit.message


def test_what_is_not_accepted_is_set_back_and_the_timer_disarmed(world: SettingsWorld) -> None:
    world.host.ignores = TX
    unit = only(applied(world))
    assert unit.outcome == "failed"
    assert "accepted but not applied" in unit.message
    assert [timer.state for timer in world.host.timers.values()] == ["disarmed"]


def test_what_cannot_cut_the_way_needs_no_timer(world: SettingsWorld) -> None:
    assert only(applied(world, RPS, "3")).outcome == "applied"
    assert world.host.timers == {}


def is_killed_at(world: SettingsWorld, place: int) -> bool:
    """False if the program came to its end before."""
    world.passed.clear()
    world.kill_at = place
    with suppress(Killed):
        applied(world)
        return False
    world.kill_at = None
    return True


@pytest.mark.parametrize("then", ["late", "soon", "restarted", "rolled-back"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_killed_anywhere(
    then: str, is_cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in count():
        world = guarded_world(tmp_path / str(place), monkeypatch)
        world.host.cut_by = TX if is_cut else ""
        if not is_killed_at(world, place):
            break
        is_set, is_sure, is_over = (
            f"behind {what}" in world.passed for what in ("line setting", "disarming", "line done")
        )
        if then == "restarted":
            world.host.restart()
        elif then == "late" or is_cut:  # the host is on its own
            world.clock.sleep(DEADLINE + 2)
            assert (world.host.facts() == UNKNOWN_WAY) is (is_cut or not is_sure), place
        if is_over or not runs(str(world.folder)):
            continue
        if then == "rolled-back":
            world.rollback(world.context())
            assert world.host.now == UNKNOWN_WAY, place
            continue
        unit = only(applied(world))
        if is_set and (then == "restarted" or (not is_sure and (then == "late" or is_cut))):
            told = "the host was started again" if then == "restarted" else "undone by the host: "
            assert (unit.outcome, told in unit.message) == ("failed", True), (place, unit)
            assert world.host.now == UNKNOWN_WAY, place
        elif not is_cut:
            assert (unit.outcome, unit.message) == ("applied", "until the next boot"), place
    assert place > 20


LINKS = (
    HostLink(name="eth0", kind="", physical=True, master="bond0"),
    HostLink(name="eth1", kind="", physical=True, master="bond0"),
    HostLink(name="bond0", kind="bond", master="br0"),
    HostLink(name="br0", kind="bridge"),
    HostLink(name="tap7", kind="tun", master="br0"),
    HostLink(name="vlan5", kind="vlan", lower="br0"),
    HostLink(name="eth2", kind="", physical=True, master="ovs-system"),
    HostLink(name="br-ex", kind="openvswitch"),
    HostLink(name="vx0", kind="vxlan", tunnel=Tunnel(device="eth3")),
    HostLink(name="eth3", kind="", physical=True),
    HostLink(name="wg0", kind="wireguard"),
)
ALL = {link.name for link in LINKS}
BONDED = {"eth0", "eth1", "bond0", "br0", "tap7", "vlan5"}


@pytest.mark.parametrize(
    ("managed_by", "devices"),
    [
        (("vlan5",), BONDED),
        (("eth0",), BONDED),
        (("br-ex",), {"br-ex", "eth2"}),
        (("eth3",), {"eth3", "vx0"}),
        (("wg0",), ALL),
        (("eth9",), ALL),
        (None, ALL),
        ((), set[str]()),
    ],
)
def test_the_way_of_management(managed_by: tuple[str, ...] | None, devices: set[str]) -> None:
    facts = HostFacts(links=LINKS, managed_by=managed_by)
    assert {name for name in ALL if may_manage(facts, name)} == devices
    assert may_manage(facts, "") is bool(devices)
