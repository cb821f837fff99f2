"""A bounded run of :mod:`tests.conformance.define` against the rig's libvirtd."""

import pytest

from tests.conformance.define import compare
from tests.rig.hypervisor import Hypervisor

pytestmark = pytest.mark.rig

SEEDS = (1, 20261122)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_libvirt_defines_is_not_said_to_be_refused(hypervisor: Hypervisor, seed: int) -> None:
    """And 97 % of what it refuses is."""
    counts = compare(hypervisor.connection, 300, seed, name=f"{hypervisor.prefix}define")
    assert counts.false_alarms == ()
    assert 100 < counts.refused < 280
    assert len(counts.missed) * 33 < counts.refused
