"""The sample host of the demonstration loads, and tells the story it is there for."""

import json
from pathlib import Path

import pytest

from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.platforms.libvirt.live import LiveHost, read

HOST = Path(__file__).parents[3] / "templates/demo/host.xml"


@pytest.fixture(scope="module")
def live() -> LiveHost[Domain]:
    return read(f"test://{HOST}")


@pytest.fixture(scope="module")
def domains(live: LiveHost[Domain]) -> dict[str, Domain]:
    return {item.name: item for item in live.domains if isinstance(item, Domain)}


def test_every_domain_is_there(domains: dict[str, Domain]) -> None:
    assert list(domains) == [
        "backup-01", "ci-runner-7", "db-01", "dns-02", "edge-firewall", "erp-legacy",
        "instance-0000002a", "k8s-node-3", "mail-01", "shop_cart-vm", "trading-gw", "voip-pbx",
        "web-01", "win-fileserver",
    ]  # fmt: skip


def test_the_driver_keeps_what_the_story_needs(domains: dict[str, Domain]) -> None:
    models = {name: domain.nics[0].declared.model for name, domain in domains.items()}
    assert models == {
        "backup-01": "virtio",
        "ci-runner-7": "virtio",
        "db-01": "virtio",
        "dns-02": None,
        "edge-firewall": "virtio",
        "erp-legacy": "e1000",
        "instance-0000002a": "e1000",
        "k8s-node-3": "virtio",
        "mail-01": "rtl8139",
        "shop_cart-vm": "rtl8139",
        "trading-gw": "virtio",
        "voip-pbx": "e1000",
        "web-01": "virtio",
        "win-fileserver": "e1000e",
    }
    node = domains["k8s-node-3"].nics[0].declared
    assert (node.queues, node.tx_queue_size) == (16, 1024)


def test_networks_are_resolved(live: LiveHost[Domain], domains: dict[str, Domain]) -> None:
    assert {network.name: network.actual_type for network in live.host.networks} == {
        "default": "bridge",
        "storage": "bridge",
        "telephony": "direct",
        "sriov-pool": "hostdev",
    }
    assert domains["voip-pbx"].nics[0].declared.actual_type == "direct"
    assert domains["trading-gw"].nics[1].declared.actual_type == "hostdev"


def test_owners_and_readiness(domains: dict[str, Domain]) -> None:
    assert domains["instance-0000002a"].declared.owner == "nova"
    assert domains["shop_cart-vm"].declared.owner == "kubevirt"
    assert domains["mail-01"].declared.owner == "libvirt"
    assert domains["mail-01"].declared.readiness == "ready"
    assert domains["win-fileserver"].declared.readiness == "needs-driver"
    assert domains["erp-legacy"].declared.readiness == "unknown"


def test_states(domains: dict[str, Domain]) -> None:
    assert domains["backup-01"].state == DomainState(
        active=False,
        persistent=True,
        managed_save=True,
        snapshots=1,
        memory_snapshots=1,
    )
    runner = domains["ci-runner-7"].state
    assert runner is not None
    assert (runner.active, runner.persistent) == (True, False)


def test_the_suppression_is_read(domains: dict[str, Domain]) -> None:
    (suppression,) = domains["voip-pbx"].suppressions
    entry = json.loads(suppression)
    assert (entry["rule"], entry["until"]) == ("VNIC002", "2099-12-31")
