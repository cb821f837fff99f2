"""What is refused, by the real libvirtd, and that nothing is changed by it; who comes second; a
full disk; Ctrl-C."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.rig.errors import RigError
from tests.rig.faults import firmware_guest, free, private
from tests.rig.guests import Guest
from tests.rig.hooks import Command, Ended, Fault, command
from tests.rig.hypervisor import Hypervisor
from tests.rig.process import run
from tests.rig.remedy import Remedy, definition, remedy

pytestmark = pytest.mark.rig

__all__ = ["remedy"]

VIRTIO = "<model type='virtio'/>"


@pytest.fixture
def off(hypervisor: Hypervisor) -> Iterator[Guest]:
    """A guest that is off."""
    with firmware_guest(hypervisor, on=False) as guest:
        yield guest


@pytest.fixture
def on(hypervisor: Hypervisor) -> Iterator[Guest]:
    """A guest that runs its firmware."""
    with firmware_guest(hypervisor, on=True) as guest:
        yield guest


def do(remedy: Remedy, *words: str | Path, fault: Fault | None = None) -> Ended:
    """A command with the remedy's state folder, without a screen of plan."""
    return command(*words, "--yes", "--quiet", "--state", remedy.state, fault=fault)


def edit(guest: Guest, old: str, new: str) -> None:
    """Somebody changes the persistent definition."""
    text = definition(guest)
    assert old in text
    guest.domain.connect().defineXML(text.replace(old, new))


def test_an_edit_after_the_plan(off: Guest, remedy: Remedy) -> None:
    plan = remedy.plan(off)
    edit(off, "<vcpu placement='static'>1</vcpu>", "<vcpu placement='static'>2</vcpu>")
    before = definition(off)
    remedy.apply(plan, code=5)
    unit = remedy.last()
    assert (unit["outcome"], unit["codes"]) == ("refused", ["drift"])
    assert definition(off) == before


def test_an_edit_after_the_run(off: Guest, remedy: Remedy) -> None:
    before = definition(off)
    remedy.apply(remedy.plan(off))
    run_id = remedy.last()["run"]
    edit(off, "<vcpu placement='static'>1</vcpu>", "<vcpu placement='static'>2</vcpu>")
    edited = definition(off)

    remedy.rollback(run_id, code=5)
    unit = remedy.last()
    assert (unit["outcome"], unit["codes"]) == ("refused", ["edited"])
    assert definition(off) == edited

    remedy.rollback(run_id, "--over-edits")
    assert remedy.last()["outcome"] == "applied"
    two = before.replace("<vcpu placement='static'>1</vcpu>", "<vcpu placement='static'>2</vcpu>")
    assert definition(off) == two


def saved(guest: Guest) -> None:
    guest.domain.managedSave()


def snapshot(guest: Guest) -> None:
    memory = Path(f"/var/tmp/{guest.name}.memory")
    text = f"<domainsnapshot><memory snapshot='external' file='{memory}'/></domainsnapshot>"
    guest.domain.snapshotCreateXML(text)
    memory.unlink()


def transient(guest: Guest) -> None:
    guest.domain.undefine()


def paused(guest: Guest) -> None:
    guest.domain.suspend()


@pytest.mark.parametrize(
    ("mode", "happens", "code"),
    [
        ("next-boot", saved, "saved-memory"),
        ("next-boot", snapshot, "saved-memory"),
        ("next-boot", transient, "transient"),
        ("restart", paused, "state"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_guest_that_is_not_to_be_touched(
    on: Guest, remedy: Remedy, mode: str, happens: Callable[[Guest], None], code: str
) -> None:
    plan = remedy.plan(on)
    happens(on)
    before = definition(on), on.domain.state()
    remedy.apply(plan, "--mode", mode, code=5)
    unit = remedy.last()
    assert (unit["outcome"], unit["codes"]) == ("refused", [code])
    assert (definition(on), on.domain.state()) == before


def test_of_two_at_once_the_second_is_refused(off: Guest, remedy: Remedy) -> None:
    """The first is stopped in the middle of its work, and then goes on."""
    plan = remedy.plan(off)
    words = ("apply", plan, "--yes", "--quiet", "--state", remedy.state)
    first = Command(words, Fault("behind line", 2, signal=signal.SIGSTOP))
    try:
        first.wait_until_stopped()
        second = do(remedy, "apply", plan)
        assert second.code == 5
        assert f"{libvirt_name(off)} (process {first.pid})" in second.said
        (unfinished,) = remedy.runs()
        assert do(remedy, "rollback", unfinished["id"]).code == 5
    finally:
        first.go_on()
        ended = first.wait()
    assert ended.code == 0, ended
    assert remedy.last()["outcome"] == "applied"
    assert len(remedy.runs()) == 1
    assert VIRTIO in definition(off)


def libvirt_name(guest: Guest) -> str:
    """The host's own name."""
    return str(guest.domain.connect().getHostname())


def test_another_plan_waits_until_the_first_is_finished(off: Guest, remedy: Remedy) -> None:
    plan = remedy.plan(off)
    other = remedy.folder / "other.json"
    other.write_bytes(plan.read_bytes() + b"\n")
    assert do(remedy, "apply", plan, fault=Fault("behind call", 1)).code == -signal.SIGKILL
    (unfinished,) = remedy.runs()
    assert unfinished["outcome"] == "unfinished"

    ended = do(remedy, "apply", other)
    assert ended.code == 5
    assert (
        f"Error: run {unfinished['id']} is unfinished on {off.name}: finish it (apply its "
        f"plan again), or undo it (vnicaudit rollback {unfinished['id']} --state "
        f"{remedy.state})"
    ) in ended.said
    assert do(remedy, "apply", plan).code == 0
    assert do(remedy, "apply", other).code == 0
    assert [run["outcome"] for run in remedy.runs()] == ["done", "done"]


def test_ctrl_c_and_the_same_command_again(on: Guest, remedy: Remedy) -> None:
    """While it waits for a guest that does not shut down."""
    before, plan = definition(on), remedy.plan(on)
    words = ("apply", plan, "--mode", "restart", "VNICAUDIT_GUEST_DEADLINE=60")
    asked_to_shut_down = Fault("behind call", 2, signal=signal.SIGINT)
    ended = do(remedy, *words, fault=asked_to_shut_down)
    (run,) = remedy.runs()
    assert ended.code == 130
    assert f"vnicaudit rollback {run['id']} --state {remedy.state}" in ended.said
    assert run["outcome"] == run["steps"][0]["outcome"] == "unfinished"
    private(remedy.state)
    free(remedy.state)
    assert on.domain.isActive()

    ended = do(remedy, *words[:-1], "VNICAUDIT_GUEST_DEADLINE=1", "--force-off")
    assert ended.code == 5, ended  # nothing in a firmware proves that it is back
    assert remedy.last()["outcome"] == "applied"
    assert VIRTIO in definition(on) != before
    assert VIRTIO in on.xml()


class SmallDisk:
    """A file system for state folders on which there is room for so many pages."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        try:
            run("mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", folder)
        except RigError as error:
            pytest.skip(f"no tmpfs can be mounted: {error}")
        self._folder = folder
        self._filler = folder / "filler"

    def fill(self, pages: int) -> None:
        """Leave room for so many pages, of what is free now."""
        status = os.statvfs(self._folder)
        size = (status.f_bavail - pages) * status.f_frsize
        self._filler.write_bytes(bytes(max(size, 0)))

    def make_room(self) -> None:
        """All of it is free again."""
        self._filler.unlink()

    def remove(self) -> None:
        """It is gone."""
        run("umount", self._folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    try:
        yield disk
    finally:
        disk.remove()


def test_a_full_disk(off: Guest, remedy: Remedy, small_disk: SmallDisk, tmp_path: Path) -> None:
    """Wherever it is that there is no more room: the command says so, and goes on when there is."""
    before, plan = definition(off), remedy.plan(off)
    remedy.state = tmp_path / "disk/state"
    full = 0
    for pages in range(100):
        small_disk.fill(pages)
        ended = do(remedy, "apply", plan)
        if ended.code == 0:
            break
        full += 1
        assert ended.code == 5, ended
        assert "cannot be written (No space left on device): stopped there" in ended.said
        private(remedy.state)
        free(remedy.state)
        small_disk.make_room()
        assert do(remedy, "apply", plan).code == 0
        goal = definition(off)
        assert VIRTIO in goal

        first = remedy.runs()[-1]["id"]
        small_disk.fill(pages)
        ended = do(remedy, "rollback", first)
        assert ended.code in (0, 5), ended
        small_disk.make_room()
        assert do(remedy, "rollback", first).code == 0
        assert definition(off) == before
        assert {run["outcome"] for run in remedy.runs()} == {"done"}
        run("rm", "-r", remedy.state)
    assert full > 5
