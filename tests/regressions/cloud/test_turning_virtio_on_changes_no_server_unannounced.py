"""A server was made while ``use_virtio_for_bridges`` was false: rtl8139, and Nova kept NULL. The
option was turned on, and its next hard reboot made it virtio, unasked. VNIC060 said that existing
servers keep their model, and neither audit, explain nor plan said what was to come, with all three
facts at hand.
"""

from collections.abc import Iterator
from inspect import getdoc

import pytest
from msgspec.structs import replace

from tests.audit.clouds import config, port, server
from tests.remedy.planning.cloud.clouds import left, step
from tests.remedy.planning.cloud.clouds import port as planned_port
from tests.remedy.planning.cloud.clouds import server as planned_server
from tests.remedy.planning.units import cloud_of
from tests.remedy.works import work
from vnicaudit.audit.explain_layers import layers
from vnicaudit.audit.judging.catalogue import shipped_catalogue
from vnicaudit.audit.reading.servers import with_server
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainConfig, DomainState, LiveFacts
from vnicaudit.model.finding import Finding, Location, Readiness
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import NodeFacts
from vnicaudit.platforms.nova_conf.read import read_bytes

FILE = "nodes/cmp1/nova.conf"
RULE = "VNIC084"
KEPT = {"hw_disk_bus": "virtio", "hw_machine_type": "pc"}
"""As Nova says it: it wrote these two by itself, and no model."""


def node(virtio: str) -> NodeFacts:
    return NodeFacts(FILE, (("use_virtio_for_bridges", virtio), ("virt_type", "kvm")))


def in_libvirt(
    virtio: str, model: str = "rtl8139", readiness: Readiness = "needs-driver"
) -> Domain:
    """The domain of such a server, with all that was read: cloud, libvirt and nova.conf."""
    nic = Nic(0, NicConfig("bridge", actual_type="bridge", model=model), Location("qemu:///system"))
    declared = DomainConfig(
        type="kvm", arch="x86_64", machine="pc", owner="nova", described_by="live", nics=1,
        readiness=readiness,
    )  # fmt: skip
    domain = Domain(
        "instance-21",
        declared,
        Location("qemu:///system"),
        (nic,),
        live=LiveFacts(DomainState(active=True)),
    )
    cloud = server(1, port(None), kept=replace(config("api", **KEPT), node=node(virtio)))
    return with_server(domain, cloud)


def found(domain: Domain) -> list[Finding]:
    audited = work().domain(domain, HostConfig(), "qemu:///system")
    assert audited.crashed == ()
    return [finding for finding in audited.findings if finding.rule == RULE]


def test_windows_that_the_next_hard_reboot_takes_off_the_network_is_high() -> None:
    (finding,) = found(in_libvirt("true"))
    assert finding.severity == "high"
    assert finding.message.endswith(
        f"use_virtio_for_bridges is on in {FILE}: the next hard reboot, stop and start, or cold "
        "migration makes this NIC virtio, unasked; it is rtl8139; this guest does not include a "
        "virtio driver"
    )
    assert "--property hw_vif_model=virtio (or hw_vif_model=rtl8139" in finding.fix


def test_who_will_be_concerned_is_listed_before_the_option_is_turned_on() -> None:
    (finding,) = found(in_libvirt("false"))
    assert finding.severity == "info"
    assert f"once use_virtio_for_bridges is turned on in {FILE}" in finding.message


@pytest.mark.parametrize("status", ["SHUTOFF", "ERROR", "PAUSED", "SUSPENDED", "SHELVED", "RESCUE"])
def test_none_is_left_off_that_list_for_its_state(status: str) -> None:
    domain = in_libvirt("false")
    kept = domain.declared.server
    assert kept is not None
    declared = domain.declared.with_server(replace(kept, status=status))
    (finding,) = found(replace(domain, declared=declared))
    assert finding.severity == "info"


def test_one_that_was_started_since_is_not_listed() -> None:
    assert found(in_libvirt("true", model="virtio")) == []


def test_explain_says_what_the_next_hard_reboot_writes() -> None:
    domain = in_libvirt("true")
    (nic,) = domain.nics
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), None
    )
    shown = {
        layer.name: layer
        for layer in layers(
            domain, nic, HostConfig(), effective, every_platform().title(domain.declared)
        )
    }
    fact = shown["What Nova keeps"].facts[0]
    assert (fact.fact, fact.value) == ("hw_vif_model", "none")
    assert "virtio" in fact.note


@pytest.mark.parametrize("words", ["manual", "finding"])
def test_vnic060_does_not_say_that_existing_servers_keep_their_model(words: str) -> None:
    (text,) = _manual() if words == "manual" else _fix()
    said = " ".join(text.split())
    assert "for new servers only" not in said
    assert "Existing ones keep" not in said
    assert RULE in said
    assert "hw_vif_model=rtl8139" in said


def _manual() -> Iterator[str]:
    yield getdoc(shipped_catalogue().module("VNIC060")) or ""


def _fix() -> Iterator[str]:
    text = b"[libvirt]\nvirt_type = kvm\nuse_virtio_for_bridges = false\n"
    nova = read_bytes(text, file="nova.conf", target="nova.conf")
    for problem in shipped_catalogue().module("VNIC060").check(nova):
        assert problem.change is not None
        assert "created while it was off at their next hard reboot" in problem.change.reason
        yield problem.fix


def test_a_plan_tells_of_a_server_that_it_leaves_and_that_will_change() -> None:
    one = planned_server(
        planned_port(None), kept=KEPT, config={"node": node("true"), "image": None}
    )
    told = left(one)
    assert told.rules == (RULE,)
    assert "makes this NIC virtio, unasked, unless it was started since" in told.reason
    assert "hw_vif_model=rtl8139" in told.reason


def test_a_plan_that_gives_it_a_model_of_its_own_says_no_more() -> None:
    one = planned_server(
        planned_port(None), kept=KEPT, config={"node": node("false"), "image": None}
    )
    made = step(one)
    assert cloud_of(made).properties == {"hw_vif_model": "virtio"}
