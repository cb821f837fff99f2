"""The product is killed on its way there and back, and run again: nothing is lost.

`python -m tests.rig.faults --kills 500` does more of it, and says how many.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.rig.domain_xml import Nic
from tests.rig.faults import Walk, every_place, firmware_guest, random_times, tally
from tests.rig.guests import Guest, GuestFactory
from tests.rig.hooks import Fault
from tests.rig.hypervisor import Hypervisor
from tests.rig.process import log
from tests.rig.remedy import MAC

pytestmark = pytest.mark.rig

_AT_RANDOM = 180
_SEED = int(os.environ.get("VNICAUDIT_SEED", "1"))


@pytest.fixture(scope="module", autouse=True)
def _figure() -> Iterator[None]:
    yield
    log(tally())


def at(faults: Sequence[Fault], place: str) -> list[Fault]:
    """Those at one kind of place."""
    return [fault for fault in faults if fault.place == place]


def answers(guest: Guest) -> None:
    """The guest is there again, whichever NIC it has."""
    guest.wait_for_dns()


def test_next_boot_killed_at_every_place_and_at_any_time(
    hypervisor: Hypervisor, tmp_path: Path
) -> None:
    with firmware_guest(hypervisor, on=False) as guest:
        walk = Walk(guest, tmp_path, "next-boot")
        every_place(walk, there=walk.there, back=walk.back)
        random_times(walk, _AT_RANDOM, _SEED)


def test_restart_killed_at_every_journal_step(hypervisor: Hypervisor, tmp_path: Path) -> None:
    with firmware_guest(hypervisor, on=True) as guest:
        # it sends no packets: nothing can prove that it is well, which is exit code 5
        words = ("--force-off", "--guest-deadline", "1")
        walk = Walk(guest, tmp_path, "restart", *words, code=5)
        every_place(walk, there=at(walk.there, "behind line"), back=())


def test_hotswap_killed_at_every_journal_step(x86_guest: GuestFactory, tmp_path: Path) -> None:
    with x86_guest(Nic("rtl8139", mac=MAC)) as guest:
        guest.wait_for_dns()
        walk = Walk(guest, tmp_path, "hotswap", well=answers)
        every_place(walk, there=at(walk.there, "behind line"), back=())
