"""Manifests as domains: what KubeVirt makes of them, how they are wired, what they refer to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.audit.effective import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.effective import Effective
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.kubevirt.read import read_bytes
from vnicaudit.platforms.kubevirt.recognise import looks_like
from vnicaudit.platforms.kubevirt.references import network_type

VMI = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {{name: a, namespace: lab}}
spec:
  domain: {domain}
  networks: {networks}
"""
ATTACHMENT = """\
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{config: '{config}'}}
"""


def read(text: str, file: str = "vm.yaml") -> list[Domain | Preference | ReadError]:
    return list(read_bytes(text.encode(), target="t", file=file))


def domain(text: str) -> Domain:
    (found,) = [item for item in read(text) if isinstance(item, Domain)]
    return found


def effective(found: Domain, index: int = 0) -> Effective:
    return resolve(found.nics[index].declared, found.declared, HostConfig())


def wired(interface: str, network: str, rest: str = "") -> tuple[str | None, str | None]:
    """How one interface is wired, and libvirt's type of it."""
    text = VMI.format(
        domain=f"{{devices: {{interfaces: [{{name: n, {interface}}}]}}}}",
        networks=f"[{{name: n, {network}}}]",
    )
    (nic,) = domain(text + rest).nics
    return nic.wiring, nic.declared.actual_type


def attachment(config: str, name: str = "x", namespace: str = "lab") -> str:
    return ATTACHMENT.format(name=name, namespace=namespace, config=config)


@pytest.mark.parametrize(
    ("interface", "network", "config", "expected"),
    [
        ("masquerade: {}", "pod: {}", "", ("masquerade", "ethernet")),
        ("bridge: {}", "pod: {}", "", ("pod-bridge", "ethernet")),
        ("binding: {name: l2bridge}", "pod: {}", "", ("udn", "ethernet")),
        (
            "bridge: {}",
            "multus: {networkName: x}",
            '{"type": "ovn-k8s-cni-overlay"}',
            ("ovn-secondary", "ethernet"),
        ),
        (
            "bridge: {}",
            "multus: {networkName: lab/x}",
            '{"plugins": [{"type": "sriov"}, {"type": "tuning"}]}',
            ("sriov-netdev", "ethernet"),
        ),
        ("sriov: {}", "multus: {networkName: x}", "", ("sriov-vfio", "hostdev")),
        ("binding: {name: vdpa}", "multus: {networkName: x}", "", ("vhost-vdpa", "vdpa")),
        ("binding: {name: vduse-net}", "multus: {networkName: x}", "", ("vhost-vdpa", "vdpa")),
        ("passtBinding: {}", "pod: {}", "", ("passt", "vhostuser")),
        (
            "bridge: {}",
            "multus: {networkName: x}",
            '{"type": "cnv-bridge"}',
            ("secondary cnv-bridge", "ethernet"),
        ),
        ("bridge: {}", "multus: {networkName: elsewhere}", "", ("secondary", "ethernet")),
        ("bridge: {}", "multus: {networkName: other/x}", "{}", ("secondary", "ethernet")),
        ("binding: {name: own}", "multus: {networkName: x}", "", ("plugin own", None)),
        ("model: virtio", "pod: {}", "", ("not said", None)),
        ("bridge: {}", "name: another", "", ("bridge", "ethernet")),
        ("masquerade: ", "pod: {}", "", ("not said", None)),
    ],
)
def test_each_wiring_is_recognised(
    interface: str, network: str, config: str, expected: tuple[str, str | None]
) -> None:
    assert wired(interface, network, attachment(config) if config else "") == expected


@pytest.mark.parametrize(
    "config", ["", "no JSON", "[]", "3", '{"type": 3}', '{"plugins": []}', "[" * 9999]
)
def test_a_cni_configuration_that_says_nothing(config: str) -> None:
    assert network_type(config) == ""


@pytest.mark.parametrize(
    ("cpu", "vcpus"),
    [
        ("cpu: {sockets: 2, cores: 4, threads: 2}", 16),
        ("cpu: {cores: 4}", 4),
        ("cpu: {cores: 0}, resources: {requests: {cpu: 3}}", 3),
        ("resources: {limits: {cpu: 1500m}, requests: {cpu: 7}}", 2),
        ("resources: {requests: {cpu: '2.5'}}", 3),
        ("resources: {requests: {memory: 1Gi}}", 1),
        ("cpu: {cores: 4294967295, sockets: 4294967295}", None),
        ("cpu: {cores: many}", None),
        ("resources: {requests: {cpu: '${CPU}'}}", None),
    ],
)
def test_vcpus_are_counted_as_kubevirt_counts_them(cpu: str, vcpus: int | None) -> None:
    found = domain(VMI.format(domain=f"{{{cpu}}}", networks="[]"))
    assert found.declared.vcpus == vcpus


def test_a_vm_that_names_no_interface_gets_one_by_masquerade() -> None:
    found = domain(VMI.format(domain="{devices: {}}", networks="[]"))
    assert [(nic.wiring, nic.declared.origin) for nic in found.nics] == [("masquerade", "default")]
    assert effective(found).model.effective == "virtio"


@pytest.mark.parametrize(
    ("given_domain", "networks"),
    [("{devices: {autoattachPodInterface: false}}", "[]"), ("{devices: {}}", "[{name: n}]")],
)
def test_a_vm_that_gets_none(given_domain: str, networks: str) -> None:
    assert domain(VMI.format(domain=given_domain, networks=networks)).nics == ()


def test_what_the_guest_gets_and_why() -> None:
    text = VMI.format(
        domain="{cpu: {cores: 6}, devices: {networkInterfaceMultiqueue: on, interfaces: "
        "[{name: a, masquerade: {}}, {name: b, bridge: {}, model: e1000}, {name: c, bridge: {}, "
        "model: vmxnet3}]}}",
        networks="[{name: a, pod: {}}]",
    )
    found = domain(text)
    first, second, third = (effective(found, index) for index in range(3))
    assert (first.model.effective, first.model.reason) == ("virtio", "KubeVirt: its default")
    assert first.queues.effective == 6
    assert first.rx_queue_size.effective == 256
    assert first.vhost.state == "unknown"
    assert (second.model.reason, second.queues.effective) == ("KubeVirt: as the interface says", 1)
    assert second.rx_queue_size.state == "none"
    assert third.model.reason == "KubeVirt: refuses 'vmxnet3' as a model"
    assert [first.starts, second.starts, third.starts] == [True, True, False]


def test_names_places_and_owner() -> None:
    text = VMI.format(
        domain="{devices: {interfaces: [{name: n, bridge: {}, macAddress: DE-AD-00-00-BE-EF}]}}",
        networks="[{name: n, pod: {}}]",
    )
    found = domain(f"---\nkind: Other\napiVersion: v1\n---\n{text}")
    (nic,) = found.nics
    assert (found.name, found.declared.owner, found.declared.form) == (
        "lab/a", "kubevirt", "manifest",
    )  # fmt: skip
    assert (nic.mac, nic.alias) == ("de:ad:00:00:be:ef", "n")
    assert nic.location.xpath == "[2]/spec/domain/devices/interfaces/0"
    assert str(nic.location) == "vm.yaml:9:35"


VM_WITH_REFERENCES = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  instancetype: {name: big}
  preference: {name: old, kind: VirtualMachinePreference}
  template:
    spec:
      domain: {devices: {interfaces: [{name: n, masquerade: {}}]}}
      networks: [{name: n, pod: {}}]
"""
BIG = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: big}
spec: {cpu: {guest: 12}}
"""
OLD = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata: {name: old}
spec: {devices: {preferredInterfaceModel: %s}}
"""


def test_what_a_vm_refers_to_is_found_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text(BIG)
    (tmp_path / "old.yml").write_text(OLD % "pcnet")
    (tmp_path / "broken.yaml").write_text("kind: VirtualMachinePreference\na: [")
    file = tmp_path / "vm.yaml"
    (found,) = read(VM_WITH_REFERENCES, str(file.resolve()))
    assert isinstance(found, Domain)
    assert (found.declared.vcpus, effective(found).model.state) == (None, "unknown")
    file.write_text(VM_WITH_REFERENCES)
    (found,) = read(VM_WITH_REFERENCES, str(file))
    assert isinstance(found, Domain)
    assert found.declared.vcpus == 12
    model = effective(found).model
    assert model.effective == "pcnet"
    assert model.reason == "KubeVirt: preferredInterfaceModel of preference 'old'"


def test_what_is_found_twice_and_differs_is_not_known(tmp_path: Path) -> None:
    for name, model in (("a.yaml", "pcnet"), ("b.yaml", "virtio")):
        (tmp_path / name).write_text(OLD % model)
    file = tmp_path / "vm.yaml"
    file.write_text(VM_WITH_REFERENCES)
    (found,) = read(VM_WITH_REFERENCES, str(file))
    assert isinstance(found, Domain)
    assert effective(found).model.state == "unknown"
    assert "preference 'old' is not here" in effective(found).model.reason


def test_a_broken_document_is_named_and_the_others_are_read() -> None:
    error, found = read("apiVersion: kubevirt.io/v1\nkind: [\n---\n" + VM_WITH_REFERENCES)
    assert isinstance(error, ReadError)
    assert (error.file, error.line) == ("vm.yaml", 3)
    assert isinstance(found, Domain)


def test_lists_within_lists_are_bounded() -> None:
    lines = [
        "x: &l0 {apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance, spec: {domain: {}}}"
    ]
    for depth in range(1, 6):
        items = ", ".join([f"*l{depth - 1}"] * 8)
        lines.append(f"y{depth}: &l{depth} {{kind: List, items: [{items}]}}")
    text = "\n".join([*lines, "kind: List", "items: [*l5]"])
    assert len(read(text)) <= 20_001


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("apiVersion: kubevirt.io/v1\n", True),
        ("# c\n---\nkind: VirtualMachine\napiVersion: 'kubevirt.io/v1alpha3'\n", True),
        ('{"kind": "List", "items": [{"apiVersion": "kubevirt.io/v1"}]}', True),
        ("items:\n- apiVersion: instancetype.kubevirt.io/v1beta1\n", True),
        ("apiVersion: k8s.cni.cncf.io/v1\n", True),
        ("apiVersion: v1\nkind: Pod\n", False),
        ("apiVersion: v1\nkind: Pod\n" + "#" * 65536, True),
        ("the apiVersion: kubevirt.io/v1 of a text", False),
        ("apiVersion: cdi.kubevirt.io/v1beta1\n", False),
        ("", False),
    ],
)
def test_recognised_by_api_version(head: str, wanted: bool) -> None:
    assert looks_like(head.encode()) is wanted


WORDS = st.sampled_from(
    ["spec", "domain", "devices", "interfaces", "name", "model", "template", "kind", "metadata",
     "networks", "cpu", "cores", "a", "VirtualMachine", "{}", "[]", "1", "- ", "  ", ": ", "\n"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=40).map("".join) | st.text(max_size=60))
def test_any_manifest_is_read_or_refused(text: str) -> None:
    head = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n"
    for item in read(head + text):
        if isinstance(item, Domain):
            for index in range(len(item.nics)):
                effective(item, index)


@pytest.mark.parametrize("cut", range(0, len(VM_WITH_REFERENCES), 7))
def test_a_truncated_manifest_is_read_or_refused(cut: int) -> None:
    for item in read(VM_WITH_REFERENCES[:cut]):
        assert isinstance(item, Domain | ReadError)
