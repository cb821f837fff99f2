"""A hypervisor with real KVM and real vhost-net, audited from inside by the product's source."""

from typing import Any

import pytest

from tests.rig.l1 import L1
from tests.rig.product import effective, nic_of, report_in_l1, rules_of

pytestmark = pytest.mark.rig

SYSTEM = "qemu:///system"
SEEN = "seen in QEMU's "


@pytest.fixture(scope="module")
def nics(l1_with_product: L1, l1_with_guests: L1) -> dict[str, Any]:
    assert l1_with_product is l1_with_guests
    return report_in_l1(l1_with_guests, "nics", SYSTEM)


@pytest.fixture(scope="module")
def report(l1: L1, nics: dict[str, Any]) -> dict[str, Any]:
    assert nics
    return report_in_l1(l1, "audit", SYSTEM)


def test_kvm_without_a_word_has_vhost(nics: dict[str, Any], report: dict[str, Any]) -> None:
    nic = nic_of(nics, "vnicaudit-kvm-default")
    value, reason = effective(nic, "vhost")
    assert value is True
    assert reason.startswith(SEEN)
    assert not rules_of(report, "vnicaudit-kvm-default") & {"VNIC020", "VNIC021", "VNIC022"}


def test_kvm_with_name_qemu_has_none(nics: dict[str, Any], report: dict[str, Any]) -> None:
    nic = nic_of(nics, "vnicaudit-kvm-qemu")
    assert effective(nic, "vhost")[0] is False
    assert "VNIC021" in rules_of(report, "vnicaudit-kvm-qemu")


def test_tcg_that_says_vhost_has_none(nics: dict[str, Any], report: dict[str, Any]) -> None:
    nic = nic_of(nics, "vnicaudit-tcg-vhost")
    assert nic["vhost"]["declared"] is True
    assert effective(nic, "vhost")[0] is False
    assert "VNIC022" in rules_of(report, "vnicaudit-tcg-vhost")


def test_two_queues_have_two_vhost_threads(l1: L1, nics: dict[str, Any]) -> None:
    nic = nic_of(nics, "vnicaudit-kvm-queues")
    assert effective(nic, "queues")[0] == 2
    assert effective(nic, "vhost")[0] is True
    facts = l1.vhost_facts("vnicaudit-kvm-queues")
    assert (facts.vhost_files, len(facts.vhost_threads)) == (2, 2)


def test_descriptors_are_the_evidence(nics: dict[str, Any]) -> None:
    nic = nic_of(nics, "vnicaudit-kvm-queues")
    assert nic["vhost"]["reason"] == "seen in QEMU's open descriptors"


def test_the_host_itself_has_nothing_to_complain_of(report: dict[str, Any]) -> None:
    hosts = [f["rule"] for f in report["findings"] if f["about"]["name"] is None]
    assert not set(hosts) & {"VNIC023", "VNIC024"}
