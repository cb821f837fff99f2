"""A shadow NIC goes in and comes out again, whatever happens in between."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.adapters import ADAPTERS
from tests.bench.trials.shadow_fakes import (
    NETWORK,
    OLD,
    SHADOW,
    TEMPORARY,
    Killed,
    World,
    installed,
    note,
)
from vnicaudit.bench.trials import shadow_guest
from vnicaudit.bench.trials.shadow_notes import ShadowNotes
from vnicaudit.bench.trials.shadow_plug import LeftShadows, ShadowPlug
from vnicaudit.errors import GuestError, RefusedError, SilentError, TargetError, UsageError
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.journal.state import StateFolder


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return installed(World(), monkeypatch)


def plug(world: World, state: Path) -> ShadowPlug:
    return ShadowPlug(world, ShadowNotes(state), world.tell, world.adapters)


def clean_up(world: World, state: Path, adapters: Adapters | None = None) -> None:
    """What a command does before it begins."""
    LeftShadows(state, adapters or world.adapters, world.tell).take_out(30.0)


def trial(world: World, state: Path) -> None:
    """All that is done around a measurement."""
    agent, wanted = world.agent, note()
    ground = shadow_guest.ground_of(agent, OLD, NETWORK)
    element = ADAPTERS.texts.elements.beside(world.persistent, 1, SHADOW)
    with plug(world, state).plugged_in(wanted, element):
        shadow_guest.set_up(agent, wanted, ground, NETWORK)
        assert (TEMPORARY, "7710") in world.guest.rules
        assert world.guest.addresses["eth1"] == [f"{TEMPORARY}/32"]
        world.passing("measured")


def notes(state: Path) -> list[str]:
    return [one.mac for one in ShadowNotes(state).every_note()]


def test_nothing_is_left(world: World, tmp_path: Path) -> None:
    before, live = world.guest.state(), world.live()
    trial(world, tmp_path)
    assert world.guest.state() == before
    assert world.live() == live
    assert notes(tmp_path) == []
    assert world.told == []


def _places() -> int:
    """How many places there are where the program may be ended."""
    with pytest.MonkeyPatch.context() as patch:
        world = installed(World(), patch)
        with TemporaryDirectory() as folder:
            trial(world, Path(folder))
        return len(world.passed)


_PLACES = _places()


@pytest.mark.parametrize("place", range(_PLACES))
def test_killed_anywhere_the_next_run_cleans_up(world: World, tmp_path: Path, place: int) -> None:
    before, live = world.guest.state(), world.live()
    world.kill_at = place
    with pytest.raises(Killed):
        trial(world, tmp_path)
    world.born_again()
    left = bool(notes(tmp_path))
    assert left or (world.guest.state(), world.live()) == (before, live)
    clean_up(world, tmp_path)
    assert (world.guest.state(), world.live()) == (before, live)
    assert notes(tmp_path) == []
    said = [f"removed a shadow NIC left by an earlier run, {SHADOW}"]
    assert world.told == (said if left else [])


@pytest.mark.parametrize("place", range(0, _PLACES, 3))
def test_killed_again_while_it_cleans_up(world: World, tmp_path: Path, place: int) -> None:
    before, live = world.guest.state(), world.live()
    killed_while_it_measures(world, tmp_path)
    world.kill_at = len(world.passed) + place
    try:
        clean_up(world, tmp_path)
    except Killed:
        world.born_again()
        clean_up(world, tmp_path)
    assert (world.guest.state(), world.live()) == (before, live)
    assert notes(tmp_path) == []


def killed_while_it_measures(world: World, state: Path) -> None:
    """What another process finds then."""
    real = world.passing

    def passing(place: str) -> None:
        if place == "measured":
            world.kill_at = len(world.passed)
        real(place)

    world.passing = passing  # type: ignore[method-assign]
    with pytest.raises(Killed):
        trial(world, state)
    world.passing = real  # type: ignore[method-assign]
    world.born_again()
    assert notes(state) == [SHADOW]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RefusedError("no number")])
def test_an_error_in_the_middle(world: World, tmp_path: Path, error: BaseException) -> None:
    before, live = world.guest.state(), world.live()
    element = ADAPTERS.texts.elements.beside(world.persistent, 1, SHADOW)
    ground = shadow_guest.ground_of(world.agent, OLD, NETWORK)

    def measure() -> None:
        with plug(world, tmp_path).plugged_in(note(), element):
            shadow_guest.set_up(world.agent, note(), ground, NETWORK)
            raise error

    with pytest.raises(type(error)):
        measure()
    assert (world.guest.state(), world.live(), notes(tmp_path)) == (before, live, [])


def test_no_free_slot_is_refused_and_nothing_is_changed(world: World, tmp_path: Path) -> None:
    before, live = world.guest.state(), world.live()
    world.refuses["attach"] = "internal error: No more available PCI slots"
    with pytest.raises(RefusedError, match=r"^a second NIC cannot be plugged in: .*PCI slots$"):
        trial(world, tmp_path)
    assert (world.guest.state(), world.live(), notes(tmp_path)) == (before, live, [])


def test_a_guest_without_a_driver(world: World, tmp_path: Path) -> None:
    live = world.live()
    world.driverless = True
    with pytest.raises(
        GuestError, match=f"no interface with {SHADOW} after 30 s: does it have a driver"
    ):
        trial(world, tmp_path)
    assert (world.live(), notes(tmp_path)) == (live, [])


def test_a_guest_that_does_not_give_it_up(world: World, tmp_path: Path) -> None:
    world.stubborn = True
    with pytest.raises(GuestError, match=f"did not release {SHADOW} within 30 s"):
        trial(world, tmp_path)
    assert notes(tmp_path) == [SHADOW]
    clean_up(world, tmp_path)
    assert world.told[-1].startswith(f"the shadow NIC {SHADOW} stays until the next run")
    assert notes(tmp_path) == [SHADOW]
    world.stubborn = False
    clean_up(world, tmp_path)
    assert notes(tmp_path) == []


def test_a_silent_host_leaves_the_note(world: World, tmp_path: Path) -> None:
    world.silent_at = "attach"
    with pytest.raises(SilentError):
        trial(world, tmp_path)
    assert notes(tmp_path) == [SHADOW]
    world.silent_at = ""
    clean_up(world, tmp_path)
    assert notes(tmp_path) == []


def test_what_libvirt_does_after_the_process_has_ended(world: World, tmp_path: Path) -> None:
    """The request was under way: the NIC comes up some seconds after nobody waits for it."""
    live = world.live()
    ShadowNotes(tmp_path).write(note(at=world.clock.time()))
    element = ADAPTERS.texts.elements.beside(world.persistent, 1, SHADOW)
    real = world.clock.sleep

    def sleep(seconds: float) -> None:
        real(seconds)
        if world.clock.seconds > 1_000_003 and SHADOW.encode() not in world.live():
            world.clock.sleep = real  # type: ignore[method-assign]
            world.attach(element)

    world.clock.sleep = sleep  # type: ignore[method-assign]
    clean_up(world, tmp_path)
    assert (world.live(), notes(tmp_path)) == (live, [])


def test_a_power_cycle_ends_it(world: World, tmp_path: Path) -> None:
    killed_while_it_measures(world, tmp_path)
    world.power_off()
    clean_up(world, tmp_path)
    assert notes(tmp_path) == []


def test_after_a_reboot_of_the_guest_its_settings_are_its_own(world: World, tmp_path: Path) -> None:
    live = world.persistent
    killed_while_it_measures(world, tmp_path)
    world.reboot()
    world.guest.settings["net/ipv4/conf/eth0/arp_filter"] = "1"
    clean_up(world, tmp_path)
    assert (world.live(), notes(tmp_path)) == (live, [])
    assert world.guest.settings["net/ipv4/conf/eth0/arp_filter"] == "1"


def test_a_domain_that_is_not_there_any_more(world: World, tmp_path: Path) -> None:
    killed_while_it_measures(world, tmp_path)
    world.gone = True
    clean_up(world, tmp_path)
    assert world.told == [f"it no longer exists, and neither does its shadow NIC {SHADOW}"]
    assert notes(tmp_path) == []


def test_a_guest_without_agent_loses_the_device_and_keeps_the_note(
    world: World, tmp_path: Path
) -> None:
    live = world.persistent
    killed_while_it_measures(world, tmp_path)
    world.deaf = True
    clean_up(world, tmp_path)
    assert (world.live(), notes(tmp_path)) == (live, [SHADOW])
    assert "does not answer" in world.told[-1]
    world.deaf = False
    clean_up(world, tmp_path)
    assert notes(tmp_path) == []
    assert world.guest.settings["net/ipv4/conf/eth0/arp_filter"] == "0"
    assert world.guest.rules[1] == ("all", "main")


def test_one_that_another_process_works_on_is_left_alone(world: World, tmp_path: Path) -> None:
    killed_while_it_measures(world, tmp_path)
    with StateFolder(str(tmp_path)).lock("host", "host"):
        clean_up(world, tmp_path)
    assert notes(tmp_path) == [SHADOW]
    assert world.told == []


def test_taken_out_twice(world: World, tmp_path: Path) -> None:
    killed_while_it_measures(world, tmp_path)
    for _ in range(2):
        plug(world, tmp_path).take_out(note())
    assert notes(tmp_path) == []


def test_a_host_that_cannot_be_reached_is_no_reason_to_stop(world: World, tmp_path: Path) -> None:
    killed_while_it_measures(world, tmp_path)

    def connect(uri: str, **_: object) -> World:
        raise TargetError("no route to host", file=uri)

    clean_up(world, tmp_path, world.adapters._replace(connect=connect))
    (said,) = world.told
    assert said == (
        f"the shadow NIC {SHADOW} stays until the next run or a power cycle removes it: "
        "qemu:///system: no route to host"
    )
    assert notes(tmp_path) == [SHADOW]


def test_notes_are_private_and_ordered_by_time(tmp_path: Path) -> None:
    kept = ShadowNotes(tmp_path)
    assert notes(tmp_path) == []
    for at, mac in enumerate(("52:54:00:f0:00:03", "52:54:00:f0:00:02")):
        kept.write(note(mac=mac, at=at))
    assert notes(tmp_path) == ["52:54:00:f0:00:03", "52:54:00:f0:00:02"]
    folder = tmp_path / "shadows"
    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [
        0o700, 0o600, 0o600,
    ]  # fmt: skip


def test_a_note_that_is_none_is_said(tmp_path: Path) -> None:
    ShadowNotes(tmp_path).write(note())
    (path,) = (tmp_path / "shadows").iterdir()
    path.write_text("{}")
    with pytest.raises(UsageError, match="not a note of a shadow NIC"):
        notes(tmp_path)
