"""Faults planted in a real Open vSwitch: each is found where it is, and nothing else."""

from collections.abc import Iterator

import pytest

from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.open_vswitch import OpenVSwitch, running_on_dummies

pytestmark = pytest.mark.rig

RULES = ("VNIC126", "VNIC128", "VNIC129", "VNIC130", "VNIC134")
"""Those that need nothing of the machine: its CPUs and guests are not those of the PMDs."""
SLEEP = "other_config:pmd-maxsleep=1000"
"""PMDs poll without end otherwise (3.1; later versions take it as pmd-sleep-max)."""


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    try:
        with running_on_dummies() as switch:
            switch.set(
                "set", "Open_vSwitch", ".", SLEEP,
                "--", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=dummy",
                "--", "add-port", "br0", "p0", "--", "set", "Interface", "p0", "type=dummy-pmd",
                "options:n_rxq=2", "options:numa_id=0",
                "--", "add-port", "br0", "p1", "--", "set", "Interface", "p1", "type=dummy-pmd",
                "options:n_rxq=1", "options:numa_id=1",
            )  # fmt: skip
            yield switch
    except Missing as error:
        not_run("rig", str(error))


@pytest.fixture
def mended(switch: OpenVSwitch) -> Iterator[OpenVSwitch]:
    """The switch without a fault; what a test plants is taken out afterwards."""
    _mask(switch, "0x36")
    yield switch
    switch.set("clear", "Interface", "p0", "other_config", "--", "--if-exists", "del-port", "old")


def _mask(switch: OpenVSwitch, mask: str, *more: str) -> None:
    switch.set("set", "Open_vSwitch", ".", f"other_config:pmd-cpu-mask={mask}", *more)


def _found(switch: OpenVSwitch) -> list[tuple[str, str]]:
    return switch.found(*(word for rule in RULES for word in ("--select", rule)))


def test_ports_that_are_polled_well_are_no_findings(mended: OpenVSwitch) -> None:
    assert _found(mended) == []


def test_one_pmd_for_two_queues_and_two_nodes(mended: OpenVSwitch) -> None:
    _mask(mended, "0x2")
    assert _found(mended) == [("VNIC128", "p0"), ("VNIC130", "p1")]


def test_a_node_without_pmds(mended: OpenVSwitch) -> None:
    _mask(mended, "0x12")
    assert _found(mended) == [("VNIC130", "p1")]


def test_a_pmd_that_is_kept_for_a_pinned_queue(mended: OpenVSwitch) -> None:
    pinned = ("--", "set", "Interface", "p0", "other_config:pmd-rxq-affinity=0:1")
    _mask(mended, "0x2", *pinned)
    assert sorted(_found(mended)) == [("VNIC129", "p0"), ("VNIC129", "p1")]


def test_a_port_that_cannot_be_had(mended: OpenVSwitch) -> None:
    """Without DPDK there is no such type; its deprecation is told too."""
    mended.set("add-port", "br0", "old", "--", "set", "Interface", "old", "type=dpdkvhostuser")
    assert _found(mended) == [("VNIC126", "old"), ("VNIC134", "old")]
