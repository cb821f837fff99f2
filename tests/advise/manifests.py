"""Scenarios of one flow with all that manifests may need, and what is written for them."""

from __future__ import annotations

from typing import Any, get_args

from vnicaudit.advise.manifests import Manifests, manifests_for
from vnicaudit.model.advice import FiredRow, FlowAdvice, NetworkAdvice, Placement, Rfs
from vnicaudit.model.scenario import (
    AttachmentKind,
    FlowNetwork,
    PlatformKind,
    Scenario,
    ScenarioPlatform,
    TrafficFlow,
)

NEVER_ADVISED = ("pod-bridge", "passt", "host-network")
ADVISABLE: tuple[AttachmentKind, ...] = tuple(
    one for one in get_args(AttachmentKind) if one not in NEVER_ADVISED
)
OF_VMS = ("sriov-vfio", "linux-bridge", "ovn-localnet", "primary-udn", "vhost-vdpa", "masquerade")
ROW = FiredRow(row="R06", kind="decides", answer="so", source="S5, CNI")


def network(*, of_vm: bool = False, **facts: Any) -> FlowNetwork:
    """All facts; those that are given count instead, None and () for nothing said."""
    return FlowNetwork(**{
        "namespace": "demo", "workload": "VirtualMachine/db" if of_vm else "Deployment/shop",
        "labels": {"app": "db"}, "device": "up0", "rx_queues": 4, "bridge": "br1", "vlan": 10,
        "subnet": "10.200.0.0/16", "addresses": ("192.0.2.10/24",), "resource": "fast_vf",
        "vfs": 8,
    } | facts)  # fmt: skip


def written_together(
    *flows: tuple[AttachmentKind, Any], rfs: Rfs = "", placement: Placement = ""
) -> Manifests:
    """What is written for flows a, b, … on OpenShift: the attachment that each is advised, and what
    is not as :func:`network` has it."""
    made, told = [], []
    for name, (attachment, facts) in zip("abcdef", flows, strict=False):
        of_vm = attachment in OF_VMS
        made.append(TrafficFlow(
            name=name, source="vm" if of_vm else "pod", to="external", connections=50,
            network=network(of_vm=of_vm, **facts),
        ))  # fmt: skip
        told.append(FlowAdvice(
            flow=name, answer="advised", attachments=(attachment,), rfs=rfs, placement=placement,
            rows=(ROW,),
        ))  # fmt: skip
    scenario = Scenario(platform=ScenarioPlatform(openshift="4.16"), flows=tuple(made))
    return manifests_for(scenario, NetworkAdvice(flows=tuple(told)))


def written(
    attachment: AttachmentKind, *, platform: PlatformKind = "x86", name: str = "orders",
    rfs: Rfs = "", placement: Placement = "", **facts: Any,
) -> Manifests:  # fmt: skip
    """What is written for one flow that is advised an attachment on OpenShift."""
    of_vm = attachment in OF_VMS
    flow = TrafficFlow(
        name=name, source="vm" if of_vm else "pod", to="external", connections=50000,
        network=network(of_vm=of_vm, **facts),
    )  # fmt: skip
    told = FlowAdvice(
        flow=name, answer="advised", attachments=(attachment,), rfs=rfs, placement=placement,
        rows=(ROW,),
    )  # fmt: skip
    scenario = Scenario(platform=ScenarioPlatform(kind=platform, openshift="4.16"), flows=(flow,))
    return manifests_for(scenario, NetworkAdvice(flows=(told,)))
