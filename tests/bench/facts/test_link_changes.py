"""What of a link changed beside what is measured."""

import pytest

from vnicaudit.bench.facts.setup import link_changes
from vnicaudit.model.measurement import Setup

WAS = {
    "kernel": "6.1", "nic": "eth0", "nic.driver": "8139cp", "nic.mtu": "1500",
    "nic.speed": "100", "nic.offload.generic-receive-offload": "on", "nic.numa_node": "0",
}  # fmt: skip


def changes(changed_here: bool, **facts: str) -> tuple[str, ...]:
    later = WAS | {name.replace("__", "."): value for name, value in facts.items()}
    return link_changes(Setup("a", WAS), Setup("a", later), changed_here=changed_here)


@pytest.mark.parametrize("changed_here", [True, False])
def test_the_same(changed_here: bool) -> None:
    assert changes(changed_here) == ()
    assert changes(changed_here, kernel="6.2", nic__numa_node="1", nic__rings__rx="1") == ()


def test_a_new_model_at_the_target_is_the_change_itself() -> None:
    new = {"nic": "eth1", "nic__driver": "virtio_net", "nic__speed": "-1"}
    assert changes(True, **new) == ()
    assert changes(True, **new, nic__mtu="1450") == ("nic.mtu changed from 1500 to 1450",)


@pytest.mark.parametrize("changed_here", [True, False])
def test_a_setting_of_the_same_driver(changed_here: bool) -> None:
    later = {"nic.offload.generic-receive-offload": "off", "nic.speed": "10"}
    found = link_changes(Setup("a", WAS), Setup("a", WAS | later), changed_here=changed_here)
    assert found == (
        "nic.offload.generic-receive-offload changed from on to off",
        "nic.speed changed from 100 to 10",
    )


def test_nothing_of_the_peer_is_meant_to_change() -> None:
    assert changes(False, nic__driver="e1000e", nic__speed="1000") == (
        "nic.driver changed from 8139cp to e1000e",
        "nic.speed changed from 100 to 1000",
    )


def test_what_only_one_look_knows_is_no_change() -> None:
    assert link_changes(Setup("a", WAS), Setup("a", {}), changed_here=False) == ()
