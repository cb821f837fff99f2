"""The disk with the journal was full between two lines: the guest that had been shut down for the
run, or had given its NIC up, was left so."""

import errno
import os
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import World, installed
from vnicaudit.errors import JournalError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.journal.journal_file import Journal

MOST = 60


def full_at(patch: pytest.MonkeyPatch, number: int) -> list[int]:
    """From that line on none can be written; those that were asked for."""
    real, seen = Journal._add, [0]

    def add(journal: Journal, line: bytes) -> None:
        seen[0] += 1
        if seen[0] >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(journal, line)

    patch.setattr(Journal, "_add", add)
    return seen


@pytest.mark.parametrize("way", ["there", "back", "undone"])
@pytest.mark.parametrize("mode", ["restart", "hotswap"])
def test_wherever_it_is_full(
    mode: Mode, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, MOST):
        with monkeypatch.context() as patch:
            world = installed(World(tmp_path / str(number)), patch)
            (machine,) = world.machines
            machine.boot()
            machine.driverless = way == "undone"
            context = world.context(mode)
            if way == "back":
                world.apply(world.steps, context)
            with patch.context() as full:
                seen = full_at(full, number)
                try:
                    if way == "back":
                        world.rollback(context)
                    else:
                        world.apply(world.steps, context)
                except JournalError:
                    pass
                else:
                    assert seen[0] < number
                    return
            world.clock.sleep(1000)
            assert machine.active, number
            assert len(machine._models(machine.running or b"")) == 1, number
            if way == "back":
                world.rollback(context)
            else:
                world.apply(world.steps, context)
            world.clock.sleep(1000)
            wanted = "virtio" if way == "there" else "e1000"
            assert machine.at_work == {machine.macs[0]: wanted}, number
            assert (b"virtio" in machine.persistent) == (way == "there"), number
    raise AssertionError("not so many lines")
