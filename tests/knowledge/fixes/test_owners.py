"""A change is worded for the one who keeps the definition."""

from typing import get_args

import msgspec
import pytest

from tests.rows import rows
from tests.rules.shipped import cases
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.fixes.owners import SHIPPED, Wordings
from vnicaudit.knowledge.fixes.wording import Wording
from vnicaudit.model.decoding import json_as
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Change, KnownOwner, Location, OutsideOwner, owner_named
from vnicaudit.model.fix import (
    BehindSetting,
    ChangeHook,
    ChangeManifest,
    EditArgument,
    EditElement,
    EditInOvirt,
    EditResource,
    Fix,
    HardReboot,
    NoSetting,
    OwnerAdvice,
    RemoveBehind,
    SetField,
    SetInManifest,
    SetOption,
    StopSetStart,
    Topic,
)
from vnicaudit.model.host import HostConfig
from vnicaudit.model.names import FixNames
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.rule_cases.cases import Case
from vnicaudit.rule_cases.judging import judge

worded = every_platform().wordings.worded

MANAGED: tuple[KnownOwner, ...] = ("nova", "kubevirt", "ovirt")
FIELDS = (
    Change("model", "e1000", "virtio", safe=True),
    Change("model", "e1000", "virtio-transitional", safe=True),
    Change("queues", None, "4", safe=True),
    Change("queues", "8", "2", safe=True),
    Change("queues", "8", None, safe=True),
    Change("rx_queue_size", None, "1024", safe=True),
    Change("tx_queue_size", "1024", None, safe=True),
    Change("packed", "on", None, safe=True),
    Change("iommu", "on", None, safe=True),
    Change("driver_name", "qemu", None, safe=True),
    Change("address_type", "pci", None, safe=True),
    Change("host_off", "off", None, safe=True),
)


@pytest.mark.parametrize(
    ("owner", "change", "value"),
    [
        ("libvirt", FIELDS[0], EditElement("model", "virtio")),
        ("libvirt", FIELDS[6], EditElement("tx_queue_size", None)),
        ("puppet", FIELDS[0], EditElement("model", "virtio")),
        ("terraform", FIELDS[0], EditResource("model", "virtio")),
        ("qemu", FIELDS[7], EditArgument("packed", None, "command-line")),
        ("nova", FIELDS[0], StopSetStart("hw_vif_model", "virtio")),
        ("nova", FIELDS[1], NoSetting()),
        ("nova", FIELDS[2], StopSetStart("hw_vif_multiqueue_enabled", "true")),
        ("nova", FIELDS[3], SetOption("max_queues", None)),
        ("nova", FIELDS[5], SetOption("rx_queue_size", "1024")),
        ("nova", FIELDS[6], HardReboot("tx_queue_size")),
        ("nova", FIELDS[7], StopSetStart("hw_virtio_packed_ring", "false")),
        ("kubevirt", FIELDS[0], SetInManifest("interfaces[].model", "virtio")),
        ("kubevirt", FIELDS[1], SetInManifest("useVirtioTransitional", "true")),
        ("kubevirt", FIELDS[2], SetInManifest("networkInterfaceMultiqueue", "true")),
        ("kubevirt", FIELDS[3], ChangeManifest()),
        ("kubevirt", FIELDS[5], ChangeHook()),
        ("ovirt", FIELDS[0], EditInOvirt("type")),
        ("ovirt", FIELDS[5], EditInOvirt("profile")),
    ],
    ids=lambda value: f"{value.field}-{value.new}" if isinstance(value, Change) else "",
)
def test_what_a_change_comes_to_for_its_owner(
    owner: KnownOwner, change: Change, value: Fix
) -> None:
    assert worded(change, "", owner).values == (value,)


@pytest.mark.parametrize(
    ("owner", "value"),
    [
        ("nova", HardReboot()),
        ("kubevirt", ChangeHook(adds_nic=True)),
        ("ovirt", EditInOvirt("arguments")),
        ("libvirt", EditArgument("model", "virtio", "definition")),
        ("terraform", EditArgument("model", "virtio", "definition")),
    ],
)
def test_what_it_comes_to_for_a_nic_in_qemu_arguments(owner: KnownOwner, value: Fix) -> None:
    assert worded(FIELDS[0], "", owner, in_arguments=True).values == (value,)


@pytest.mark.parametrize("owner", SHIPPED)
def test_values_are_read_back_as_they_were_written(owner: KnownOwner) -> None:
    values = [value for change in FIELDS for value in worded(change, "Hint.", owner).values]
    assert json_as(msgspec.json.encode(values), list[Fix]) == values


@pytest.mark.parametrize("owner", [*SHIPPED, "puppet"])
def test_every_owner_has_words_on_every_topic(owner: str) -> None:
    for topic in get_args(Topic):
        fix = worded(None, OwnerAdvice(topic), owner_named(owner))
        assert (fix.values, fix.text[-1]) == ((OwnerAdvice(topic),), ".")


@rows
def test_each_kind_of_manifest_has_its_place_and_takes_effect_in_its_way(
    kind: str, text: str
) -> None:
    assert worded(FIELDS[0], "", "kubevirt", FixNames(manifest_kind=kind)).text == text


@pytest.mark.parametrize("owner", MANAGED)
@pytest.mark.parametrize("change", FIELDS, ids=lambda change: f"{change.field}-{change.new}")
def test_managed_guests_are_never_edited_behind_their_owner(
    owner: KnownOwner, change: Change
) -> None:
    text = worded(change, "", owner).text
    assert "virsh" not in text
    assert "<" not in text, "no XML for those who do not keep it"


@rows
def test_libvirt_markup(field: str, old: str | None, new: str | None, text: str) -> None:
    change = Change(field, old, new, safe=True)
    assert worded(change, "", "libvirt").text == text


@rows
def test_nova_words(field: str, old: str | None, new: str | None, text: str) -> None:
    change = Change(field, old, new, safe=True)
    assert worded(change, "", "nova").text == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (FIELDS[0], "Set spec.template.spec.domain.devices.interfaces[].model: virtio and run "),
        (FIELDS[1], "Set spec.template.spec.domain.devices.useVirtioTransitional: true and run "),
        (FIELDS[2], "Set spec.template.spec.domain.devices.networkInterfaceMultiqueue: true and "),
        (FIELDS[3], "The definition is KubeVirt's: change the VirtualMachine, its instance type "),
        (FIELDS[5], "The definition is KubeVirt's, which has no field for this: change the hook "),
        (FIELDS[6], "The definition is KubeVirt's, which has no field for this: change the hook "),
        (FIELDS[7], "The definition is KubeVirt's, which has no field for this: change the hook "),
        (FIELDS[9], "The definition is KubeVirt's, which has no field for this: change the hook "),
    ],
    ids=lambda value: f"{value.field}-{value.new}" if isinstance(value, Change) else "",
)
def test_kubevirt_words(change: Change, text: str) -> None:
    said = worded(change, "", "kubevirt").text
    assert said.startswith(text)
    assert said.endswith("run virtctl restart.")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (FIELDS[0], "Use -device virtio-net-pci (virtio-net-ccw on s390x)"),
        (FIELDS[2], "Set queues=4 in -netdev and mq=on,vectors=10 in -device"),
        (FIELDS[5], "Set rx_queue_size=1024 in -device"),
        (FIELDS[6], "Remove tx_queue_size= of this NIC"),
        (Change("driver_name", "qemu", "vhost", safe=True), "Set vhost=on in -netdev"),
    ],
    ids=lambda value: f"{value.field}-{value.new}" if isinstance(value, Change) else "",
)
def test_command_line_words(change: Change, text: str) -> None:
    assert worded(change, "", "qemu").text == f"{text} on QEMU's command line, then restart it."
    assert worded(change, "", "libvirt", in_arguments=True).text == (
        f"{text} in <qemu:commandline> (virsh edit), then power the guest off and on."
    )


def test_ovirt_words() -> None:
    assert worded(FIELDS[0], "", "ovirt").text == (
        "The definition is oVirt's: change the NIC's type in the engine with the VM down."
    )
    assert "vNIC profile" in worded(FIELDS[5], "", "ovirt").text


@rows
def test_nic_in_qemu_arguments_is_not_changed_by_the_settings_of_an_owner(
    owner: KnownOwner, words: str
) -> None:
    assert words in worded(FIELDS[0], "", owner, in_arguments=True).text


RING = RemoveBehind((BehindSetting("rx_queue_size", "<qemu:override>"),))
RINGS = RemoveBehind((*RING.settings, BehindSetting("tx_queue_size", "-global")), "256")
FIRST = RemoveBehind((BehindSetting("mitigation", "-set"),), before_virtio=True)
CLASS_FIRST = RemoveBehind(before_virtio=True)


@pytest.mark.parametrize(
    ("owner", "value", "instead"),
    [
        ("nova", RING, HardReboot("rx_queue_size")),
        ("nova", RINGS, HardReboot("setting")),
        ("nova", RemoveBehind(), HardReboot("setting")),
        ("kubevirt", RING, ChangeHook()),
        ("ovirt", RINGS, EditInOvirt("arguments")),
        ("libvirt", RINGS, RINGS),
        ("terraform", RING, RING),
        ("puppet", RING, RING),
    ],
)
def test_who_writes_the_definition_anew_undoes_what_is_set_behind_libvirt(
    owner: str, value: RemoveBehind, instead: Fix
) -> None:
    assert worded(None, value, owner_named(owner)).values == (instead,)


@pytest.mark.parametrize("value", [FIRST, CLASS_FIRST])
def test_the_nic_is_made_virtio_when_its_owner_has_undone_it(value: RemoveBehind) -> None:
    for owner in MANAGED:
        text = worded(None, value, owner).text
        assert text.endswith(" Then make the NIC virtio.")
        assert "virsh" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            RemoveBehind(),
            "Correct or remove it in <qemu:override> or <qemu:commandline> of the definition "
            "(virsh edit), then power the guest off and on.",
        ),
        (RING, "Remove rx_queue_size from <qemu:override> of the definition (virsh edit)."),
        (
            RINGS,
            "Remove rx_queue_size from <qemu:override> of the definition (virsh edit), or give it "
            "256, then power the guest off and on. Remove tx_queue_size from -global of the "
            "definition (virsh edit), or give it 256, then power the guest off and on.",
        ),
        (
            FIRST,
            "Remove mitigation of this NIC from <qemu:override> (or -set in <qemu:commandline>) "
            "first (virsh edit): with virtio the guest would not start, or not boot from the "
            "network. Then make it virtio.",
        ),
        (
            CLASS_FIRST,
            "Correct or remove that -global in <qemu:commandline> first (virsh edit); then make "
            "the NIC virtio.",
        ),
    ],
)
def test_the_user_of_libvirt_removes_it(value: RemoveBehind, text: str) -> None:
    assert worded(None, value, "libvirt").text == text


def test_unsafe_change_says_why_and_safe_one_does_not() -> None:
    unsafe = Change("model", "e1000", "virtio", safe=False, reason="install NetKVM first")
    assert worded(unsafe, "", "ovirt").text.endswith("Unsafe: install NetKVM first.")
    safe = Change("model", "e1000", "virtio", safe=True, reason="virtio disk")
    assert "virtio disk" not in worded(safe, "", "ovirt").text


def test_hint_stands_alone_without_a_change_and_after_it_with_one() -> None:
    assert worded(None, "Stop and start it.", "nova").text == "Stop and start it."
    assert worded(FIELDS[0], "Keep the MAC.", "libvirt").text.endswith("off and on. Keep the MAC.")


@pytest.mark.parametrize("value", [*FIELDS, RING, RINGS, FIRST, RemoveBehind()])
def test_one_from_elsewhere_that_writes_definitions_anew_is_not_sent_to_edit_them(
    value: Change | RemoveBehind,
) -> None:
    """Whether it has words of its own, for some of it, or none."""
    change, advice = (value, "") if isinstance(value, Change) else (None, value)
    owner = OutsideOwner("engine", "the Engine")
    own = Wording(lambda one: SetField(one.field, one.new), lambda _fix, _named: "In the engine.")
    for wordings in (Wordings(), Wordings({"engine": own})):
        fix = wordings.worded(change, advice, owner)
        assert isinstance(fix.values[0], SetField)
        assert "virsh" not in fix.text
    text = Wordings().worded(FIELDS[0], "", owner, in_arguments=True).text
    assert text == (
        "The definition is the Engine's, which rewrites it: change it there (arguments)."
    )


def test_unknown_owner_is_spoken_to_as_libvirt() -> None:
    puppet = OutsideOwner("puppet")
    assert worded(FIELDS[0], "", puppet).text == worded(FIELDS[0], "", "libvirt").text


def test_nic_of_the_qemu_namespace_is_changed_there() -> None:
    nic = Nic(
        0, NicConfig(origin="commandline", actual_type="bridge", model="e1000"), Location("t")
    )
    domain = Domain(
        "guest", DomainConfig(type="kvm", arch="x86_64", readiness="ready"), Location("t"), (nic,)
    )
    (finding,) = (
        DomainAuditor(["VNIC002"], every_platform())
        .audit_domain(domain, HostConfig(), "t")
        .findings
    )
    assert finding.fix.startswith("Use -device virtio-net-pci")
    assert "in <qemu:commandline> (virsh edit)" in finding.fix


MARKUP = ("virsh", "<memoryBacking", "<driver", "<model", "<interface", "<backend", "<domain")


@pytest.mark.parametrize("owner", MANAGED)
@pytest.mark.parametrize("rule_id", rule_ids())
def test_no_fix_of_any_rule_sends_a_managed_guest_to_libvirt(rule_id: str, owner: str) -> None:
    for case in cases(rule_id):
        if case.fail and case.xml is not None and not case.objects:
            _sends_nobody_to_libvirt(rule_id, case, owner)


def _sends_nobody_to_libvirt(rule_id: str, case: Case, owner: str) -> None:
    audited = judge(rule_id, case, every_platform(), owner)
    assert audited.crashed == (), case.name
    for finding in audited.findings:
        assert finding.owner == owner, case.name
        assert [text for text in MARKUP if text in finding.fix] == [], case.name
        assert finding.fix, case.name


def test_no_rule_tells_a_managed_guest_to_edit_xml() -> None:
    """Whatever a rule adds in its own words holds for every owner."""
    declared = NicConfig(
        type="bridge",
        actual_type="bridge",
        model="virtio",
        driver_name="qemu",
        queues=300,
        rx_queue_size=2048,
        tx_queue_size=1024,
        packed="on",
        ioeventfd="off",
        host_off=("csum",),
    )
    for owner in MANAGED:
        config = DomainConfig(type="kvm", arch="x86_64", vcpus=2, owner=owner, nics=1)
        nic = Nic(0, declared, Location("t"))
        audited = DomainAuditor(rule_ids(), every_platform()).audit_domain(
            Domain("guest", config, Location("t"), (nic,)), HostConfig(), "t"
        )
        assert {"VNIC031", "VNIC034", "VNIC035", "VNIC037"} <= {f.rule for f in audited.findings}
        assert not [f.rule for f in audited.findings if "virsh edit" in f.fix]


def test_a_nic_put_behind_novas_back_is_undone_by_a_command_on_its_cloud() -> None:
    fix = worded(FIELDS[0], "", "nova", FixNames(target="openstack:prod"), in_arguments=True)
    assert "(openstack --os-cloud prod server reboot --hard)" in fix.text
