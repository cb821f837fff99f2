"""The row "reading and all rules" of the documentation was measured on servers of Nova's fake
driver, of which every rule is passed over: it said nothing of what rules cost.
"""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

pytest.importorskip("openstack")

from benchmarks import openstack as benchmark
from tests.audit.clouds import config, port, server
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.openstack.connect import CloudLogin

CLOUD = CloudLogin("c", None, None, 30.0)  # type: ignore[arg-type]


class Reading:
    """A reading of these servers."""

    def __init__(self, *servers: Domain) -> None:
        self.items: Iterator[Domain] = iter(servers)


def measured(monkeypatch: pytest.MonkeyPatch, *servers: Domain) -> int:
    monkeypatch.setattr(benchmark, "reading", lambda _name: Reading(*servers))
    return benchmark.audit_all(CLOUD)


def emulated(number: int) -> Domain:
    return server(number, port("rtl8139"), kept=config(hw_vif_model="rtl8139"))


def test_servers_that_are_judged_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(monkeypatch, emulated(1), emulated(2)) == 2


def test_one_that_no_rule_judges_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = replace(emulated(2), unjudged="a server that QEMU runs (its hypervisor is fake)")
    with pytest.raises(SystemExit, match="its hypervisor is fake"):
        measured(monkeypatch, emulated(1), fake)


def test_servers_without_a_finding_are_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = server(1, port("virtio"), kept=config(hw_vif_model="virtio"))
    with pytest.raises(SystemExit, match="the rules were not at work"):
        measured(monkeypatch, fine, fine)
