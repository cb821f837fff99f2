"""A guest of many NICs with one MAC address kept the storing of its audit busy: each was compared
with all of them."""

from tests.history.fleets import TestDomain, TestNic, audited
from tests.regressions.hostile_input.growth import MOST, TIMES, ratio
from vnicaudit.history.rows import NicColumns, nics_of
from vnicaudit.history.transitions import LookedAt, OpenNic, nic_changes

MAC = "52:54:00:00:00:01"
LOOKED = LookedAt((), frozenset(), is_whole=True)


def _nics(models: list[str]) -> list[NicColumns]:
    guest = TestDomain(1, tuple(TestNic(MAC, model) for model in models))
    return nics_of(audited(guest, "qemu:///system", ()))


def _states(count: int) -> tuple[list[OpenNic], list[NicColumns]]:
    """So many NICs as they were, and as they are: each other one has another model."""
    before = [OpenNic(number, 0, one) for number, one in enumerate(_nics(["e1000"] * count))]
    return before, _nics(["e1000", "virtio"] * (count // 2))


def test_nics_with_one_address_are_compared_in_linear_time() -> None:
    def compare(states: tuple[list[OpenNic], list[NicColumns]]) -> None:
        changes = nic_changes(*states, LOOKED)
        assert len(changes.opened) == len(changes.closed) == len(states[1]) // 2

    assert ratio(compare, _states(500), _states(500 * TIMES)) <= MOST
