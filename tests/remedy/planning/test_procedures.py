"""What to do where Nova, KubeVirt or oVirt keep the definition."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.platforms.example.inventory import ENGINE
from tests.platforms.example.platform import with_example
from tests.remedy.planning.blocked import why
from tests.remedy.planning.planned import (
    KUBEVIRT,
    MAC,
    NOVA,
    OVIRT,
    RUNNING,
    UUID,
    WINDOWS_95,
    definition,
    in_file,
    interface,
    left,
    live,
    plan,
    step,
)
from tests.rows import rows
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.plan import GuestView
from vnicaudit.remedy.planning.run import PlanOptions

VDPA = PlanOptions(to="vdpa", macs=(MAC,), devices=("/dev/vhost-vdpa-0",))


def blocked(owner: str) -> tuple[str, ...]:
    return (f"the definition belongs to {owner}, which rewrites it: change it there, not here",)


@pytest.mark.parametrize(
    ("options", "procedure"),
    [
        (
            PlanOptions(to="virtio"),
            ("engine stop a", "Set model to virtio in the engine.", "engine start a"),
        ),
        (VDPA, ("engine connect --vdpa",)),
        (
            PlanOptions(to="vhostuser", macs=(MAC,), devices=("/run/vhu1",)),
            ("the Engine decides what its NICs are connected to: change it there.",),
        ),
    ],
)
def test_an_owner_from_elsewhere_has_its_own_way(
    options: PlanOptions, procedure: tuple[str, ...]
) -> None:
    """Its words were not asked for: it was told to edit what it writes anew itself."""
    source = live(definition(interface("e1000")), RUNNING)
    declared = replace(source.domain.declared, owner=ENGINE)
    kept = source._replace(domain=replace(source.domain, declared=declared))
    found = step(kept, options, platforms=with_example())
    assert (found.owner, found.procedure) == (ENGINE, procedure)
    assert why(found) == blocked("the Engine")
    assert found.diff == ""


def test_novas_way_is_stop_set_start_and_then_the_image() -> None:
    found = step(live(definition(interface("e1000"), metadata=NOVA), RUNNING))
    assert found.owner == "nova"
    assert found.procedure == (
        f"openstack server stop {UUID}",
        f"Wait until `openstack server show -c status {UUID}` says SHUTOFF.",
        f"nova-manage image_property set {UUID} --property hw_vif_model=virtio",
        f"openstack server start {UUID}",
        "openstack image set --property hw_vif_model=virtio IMAGE, for new servers, and for this "
        "one once it is rebuilt",
        "This needs Nova 25.0 (Yoga) or later; without the fix of Launchpad bug 2078999 (28.3.1, "
        "29.2.1, 30.0) a resize or cold migration reverts it until a hard reboot.",
        "It affects all NICs of the server. Nova gives them new PCI addresses: if the guest does "
        "not name interfaces by MAC address, they may be renamed.",
        "Or plan its cloud (vnicaudit plan openstack:CLOUD): such a plan can be applied and rolled "
        "back.",
    )


@pytest.mark.parametrize(
    ("metadata", "owner"), [(NOVA, "Nova"), (KUBEVIRT, "KubeVirt"), (OVIRT, "oVirt")]
)
def test_an_owners_definition_is_never_changed(metadata: str, owner: str, tmp_path: Path) -> None:
    """On a host and in a file, whatever is asked for."""
    text = definition(interface("e1000"), metadata=metadata)
    (filed,) = in_file(tmp_path / "a.xml", text)
    for source in (live(text), live(text, RUNNING), filed):
        for options in (PlanOptions(), PlanOptions(unsafe=True), VDPA):
            found = step(source, options)
            assert (found.diff, found.guest) == ("", GuestView())
            assert found.refused == blocked(owner)
            assert found.procedure


def test_a_managed_save_is_not_our_business_where_nova_is() -> None:
    state = replace(RUNNING, managed_save=True)
    found = step(live(definition(interface("e1000"), metadata=NOVA), state))
    assert why(found) == blocked("Nova")


def test_an_unready_server_is_left_like_any_other_guest() -> None:
    source = live(definition(interface("e1000"), metadata=NOVA, os=None))
    assert left(source).reason.startswith("unsafe: the guest may have no virtio driver")
    asked = step(source, PlanOptions(unsafe=True))
    assert not asked.safe
    assert asked.procedure[0] == f"openstack server stop {UUID}"


def test_a_server_that_cannot_is_left() -> None:
    source = live(definition(interface("e1000"), metadata=NOVA, os=WINDOWS_95))
    assert left(source).code == "no-proposal"


def test_queues_are_given_to_servers_only_by_policy() -> None:
    source = live(definition(interface("virtio"), metadata=NOVA))
    assert plan(source) == []
    found = step(source, PlanOptions(policy=PolicyTable(queues="auto")))
    assert (
        f"nova-manage image_property set {UUID} --property hw_vif_multiqueue_enabled=true"
        in found.procedure
    )


def test_what_nova_has_no_property_for_is_in_the_rules_words() -> None:
    """VNIC034: nova-compute never wrote that size."""
    tuned = "<driver name='vhost' tx_queue_size='1024'/>"
    found = step(live(definition(interface("virtio", children=tuned), metadata=NOVA)))
    assert found.rules == ("VNIC034",)
    (words,) = found.procedure
    assert words.startswith("Nova never writes this tx_queue_size")


@rows
def test_another_backend_is_the_owners_to_give(metadata: str, goal: str, says: str) -> None:
    options = replace(VDPA, to=goal)
    found = step(live(definition(interface("virtio"), metadata=metadata)), options)
    (words,) = found.procedure
    assert words.startswith(says)


def test_kubevirts_way() -> None:
    text = definition(interface("e1000"), metadata=KUBEVIRT, name="shop_web-1")
    found = step(live(text, RUNNING))
    assert found.procedure == (
        "kubectl edit virtualmachine web-1 -n shop",
        "Set spec.template.spec.domain.devices.interfaces[].model: virtio and run virtctl restart.",
        "virtctl restart web-1 -n shop",
        "If the manifest is also stored elsewhere, for example in Git, make the same change there.",
    )


def test_ovirts_way() -> None:
    found = step(live(definition(interface("e1000"), metadata=OVIRT, name="mail")))
    assert found.procedure == (
        "In the engine, shut the virtual machine mail down.",
        f"Network Interfaces: edit the one with the MAC address {MAC}, Type: VirtIO.",
        "Start it in the engine.",
    )


_VM = """\
apiVersion: kubevirt.io/v1
kind: {kind}
metadata:
  name: web
  namespace: shop
spec:
  template:
    spec:
      domain:
        devices:
          disks: [{{name: d, disk: {{bus: virtio}}}}]
          interfaces:
          - name: default
            masquerade: {{}}
            model: e1000
      networks:
      - {{name: default, pod: {{}}}}
      volumes:
      - name: d
        containerDisk: {{image: quay.io/containerdisks/fedora:40}}
"""


def test_a_manifest_is_changed_in_place_by_audit(tmp_path: Path) -> None:
    path = tmp_path / "my vm.yaml"
    (source,) = in_file(path, _VM.format(kind="VirtualMachine"))
    options = PlanOptions(unsafe=True)
    found = step(source, options)
    assert (found.owner, found.diff) == ("kubevirt", "")
    assert why(found) == ("a manifest belongs to KubeVirt: change it as the procedure describes",)
    unsafe = "" if found.safe else " --include-unsafe"
    assert found.procedure == (
        f"vnicaudit audit --fix{unsafe} '{path}'",
        f"kubectl apply -f '{path}'",
        "virtctl restart web -n shop",
    )


def test_what_the_procedure_says_is_what_it_takes(tmp_path: Path) -> None:
    """``audit --fix`` as the procedure has it leaves nothing to plan."""
    from vnicaudit.cli.main import run

    path = tmp_path / "vm.yaml"
    (source,) = in_file(path, _VM.format(kind="VirtualMachine"))
    options = PlanOptions(unsafe=True)
    command = step(source, options).procedure[0].split()
    run([*command[1:], "--quiet"])
    (source,) = in_file(path, path.read_bytes())
    assert plan(source, options) == []


def test_other_kinds_take_effect_in_their_way(tmp_path: Path) -> None:
    text = _VM.format(kind="VirtualMachineInstanceReplicaSet")
    (source,) = in_file(tmp_path / "rs.yaml", text)
    found = step(source, PlanOptions(unsafe=True))
    assert "replace its instances" in found.procedure[-1]
