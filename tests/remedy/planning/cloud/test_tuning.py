"""What the policy for queues and rings comes to where Nova writes the NICs."""

from typing import Any

import pytest

from tests.remedy.planning.cloud.clouds import SECOND, flavor, port, server
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import MULTIQUEUE, NodeFacts
from vnicaudit.remedy.planning.cloud.servers import server_tuning

AUTO = PolicyTable(queues="auto")


def virtio(kept: dict[str, str] | None = None, **given: Any) -> Server:
    return server(port("virtio"), kept={"hw_vif_model": "virtio", **(kept or {})}, **given)


def node(**values: str) -> dict[str, Any]:
    return {"node": NodeFacts("cmp1/nova.conf", tuple(values.items()))}


def on(queues: int, old: str | None = None) -> tuple[Change, ...]:
    reason = f"the policy asks for it; Nova gives one queue pair per vCPU ({queues})"
    return (Change(MULTIQUEUE, old, "true", safe=True, reason=reason),)


OFF = (Change(MULTIQUEUE, "true", "false", safe=True, reason="the policy asks for one queue pair"),)


def by_flavor(value: str) -> dict[str, Any]:
    return {"flavor": flavor({"hw:vif_multiqueue_enabled": value})}


def test_it_is_left_alone_without_a_policy() -> None:
    assert server_tuning(PolicyTable(), virtio(vcpus=8)) == ((), ())


@pytest.mark.parametrize(
    ("policy", "domain", "changes"),
    [
        (AUTO, virtio(vcpus=4), on(4)),
        (AUTO, virtio({MULTIQUEUE: "false"}, vcpus=4), on(4, "false")),
        (AUTO, virtio(vcpus=16, config=node(max_queues="8")), on(8)),
        (PolicyTable(queues=4), virtio(vcpus=2), on(2)),
        (AUTO, virtio({MULTIQUEUE: "True"}, vcpus=4), ()),
        (AUTO, virtio(vcpus=1), ()),
        (AUTO, server(port("rtl8139"), vcpus=4), ()),
        (PolicyTable(queues=1), virtio({MULTIQUEUE: "true"}, vcpus=4), OFF),
        (PolicyTable(queues=1), virtio(vcpus=4), ()),
        (AUTO, virtio(vcpus=4, config=by_flavor("true")), ()),
    ],
)
def test_multiqueue_is_one_switch(
    policy: PolicyTable, domain: Server, changes: tuple[Change, ...]
) -> None:
    assert server_tuning(policy, domain) == (changes, ())


@pytest.mark.parametrize(
    ("policy", "domain", "says"),
    [
        (
            AUTO,
            virtio(vcpus=16),
            "no multiqueue: Nova gives one queue pair per vCPU (16), the policy allows 8; "
            "[libvirt] max_queues in nova.conf of cmp1 would bound it",
        ),
        (
            PolicyTable(queues="auto", vectors_max=16),
            server(port("virtio"), port("virtio", SECOND, 1), vcpus=4),
            "no multiqueue: with 4 queue pairs each its NICs would need more than 16 interrupt "
            "vectors",
        ),
        (
            AUTO,
            virtio(vcpus=4, config=by_flavor("no")),
            "its flavor decides on multiqueue (hw:vif_multiqueue_enabled=false)",
        ),
        (
            AUTO,
            virtio(vcpus=4, kind="qemu"),
            "no multiqueue: Nova does not give it to guests with virt_type qemu",
        ),
        (
            AUTO,
            virtio(vcpus=4, config=node(max_queues="1")),
            "no multiqueue: [libvirt] max_queues of cmp1 leaves one queue pair",
        ),
    ],
)
def test_where_it_is_not_switched_on_the_plan_says_why(
    policy: PolicyTable, domain: Server, says: str
) -> None:
    assert server_tuning(policy, domain) == ((), (says,))


def test_rings_are_the_compute_nodes() -> None:
    says = (
        "ring sizes are set on the compute node, not the server: [libvirt] rx_queue_size, and for "
        "vhost-user tx_queue_size, in nova.conf of cmp1, then a hard reboot"
    )
    assert server_tuning(PolicyTable(rx_queue_size=1024), virtio()).notes == (says,)
    assert server_tuning(PolicyTable(tx_queue_size=512), virtio()).notes == (says,)
    so = virtio(config=node(rx_queue_size="1024"))
    assert server_tuning(PolicyTable(rx_queue_size=1024), so).notes == ()
