"""Manifests as domains: what KubeVirt makes of them, how they are wired, what they refer to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import rows, rows_of_tuples
from tests.text.parsers import parser as parser
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.reading.files import read_file
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nic import Effective
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt.interfaces import network_type
from vnicaudit.platforms.kubevirt.read import read_bytes
from vnicaudit.platforms.kubevirt.recognise import looks_like

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


def read(text: str, file: str = "vm.yaml") -> list[Domain | Preference | ReadError | NotJudged]:
    return list(read_bytes(text.encode(), target="t", file=file))


def domain(text: str) -> Domain:
    (found,) = [item for item in read(text) if isinstance(item, Domain)]
    return found


def effective(found: Domain, index: int = 0) -> Effective:
    return every_platform().resolver(found.declared)(
        found.nics[index].declared, found.declared, HostConfig(), None
    )


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


@rows_of_tuples
def test_each_wiring_is_recognised(
    interface: str, network: str, config: str, expected: tuple[str, str | None]
) -> None:
    assert wired(interface, network, attachment(config) if config else "") == expected


@pytest.mark.parametrize(
    "config", ["", "no JSON", "[]", "3", '{"type": 3}', '{"plugins": []}', "[" * 9999]
)
def test_a_cni_configuration_that_says_nothing(config: str) -> None:
    assert network_type(config) == ""


@rows
def test_vcpus_are_counted_as_kubevirt_counts_them(cpu: str, vcpus: int | None) -> None:
    found = domain(VMI.format(domain=f"{{{cpu}}}", networks="[]"))
    assert found.declared.vcpus == vcpus


SETTINGS = """\
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {{name: kubevirt, namespace: {namespace}}}
spec: {spec}
"""


@rows_of_tuples
def test_a_vm_that_names_no_interface_gets_one(
    settings: tuple[str, ...], wiring: str, binding: str | None, type: str
) -> None:
    """As the KubeVirt object says, which a file seldom holds: HyperConverged sets masquerade."""
    rest = "".join(SETTINGS.format(namespace="kubevirt", spec=spec) for spec in settings)
    found = domain(VMI.format(domain="{devices: {}}", networks="[]") + rest)
    (nic,) = found.nics
    assert (nic.wiring, nic.declared.binding, nic.declared.actual_type, nic.declared.origin) == (
        wiring, binding, type, "default",
    )  # fmt: skip
    assert effective(found).model.effective == "virtio-non-transitional"


def test_the_settings_of_a_cluster_are_found_in_json() -> None:
    settings = '{"apiVersion": "kubevirt.io/v1", "kind":"KubeVirt", "status": {"observedKubeVirt'
    text = LISTED.format(first=settings + 'Version": "v1.5.1"}}')
    found = domain(text)
    assert found.declared.manifest is not None
    assert found.declared.manifest.version == "v1.5.1"


def test_a_vm_that_gets_none() -> None:
    text = VMI.format(domain="{devices: {autoattachPodInterface: false}}", networks="[]")
    assert (domain(text).nics, domain(text).unjudged) == ((), "")


def test_what_the_guest_gets_and_why() -> None:
    text = VMI.format(
        domain="{cpu: {cores: 6}, devices: {networkInterfaceMultiqueue: on, interfaces: "
        "[{name: a, masquerade: {}}, {name: b, bridge: {}, model: e1000}, {name: c, bridge: {}, "
        "model: vmxnet3}]}}",
        networks="[{name: a, pod: {}}, {name: b, multus: {networkName: b}}, "
        "{name: c, multus: {networkName: c}}]",
    )
    found = domain(text)
    first, second, third = (effective(found, index) for index in range(3))
    assert (first.model.effective, first.model.reason) == (
        "virtio-non-transitional",
        "KubeVirt: its default",
    )
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
    assert "preference 'old', which is not here, would show it" in effective(found).model.reason


@rows
def test_a_preference_of_another_namespace_is_not_this_one(
    of_vm: str, kind: str, of_preference: str, model: str | None
) -> None:
    name = f"VirtualMachine{kind}Preference"
    preference = (OLD % "pcnet").replace("VirtualMachinePreference", name)
    vm = VM_WITH_REFERENCES.replace("VirtualMachinePreference", name)
    if of_preference:
        preference = preference.replace("name: old}", f"name: old, namespace: {of_preference}}}")
    if of_vm:
        vm = vm.replace("name: web}", f"name: web, namespace: {of_vm}}}")
    effect = effective(domain(f"{preference}---\n{vm}")).model
    assert (effect.effective, effect.state == "unknown") == (model, model is None)


@pytest.mark.parametrize(("of_type", "vcpus"), [("mine", 12), ("other", None), ("", None)])
def test_an_instance_type_of_another_namespace_is_not_this_one(
    of_type: str, vcpus: int | None
) -> None:
    kind = "VirtualMachineInstancetype"
    space = f", namespace: {of_type}" if of_type else ""
    big = BIG.replace("VirtualMachineClusterInstancetype", kind).replace("big}", f"big{space}}}")
    vm = VM_WITH_REFERENCES.replace("{name: big}", f"{{name: big, kind: {kind}}}")
    vm = vm.replace("name: web}", "name: web, namespace: mine}")
    assert domain(f"{big}---\n{vm}").declared.vcpus == vcpus


@rows
def test_a_piece_of_a_vm_is_not_judged_and_has_no_nic(text: str, lacks: str) -> None:
    found = domain(text)
    assert found.nics == ()
    assert found.unjudged == (
        "the whole manifest, as kustomize or Helm builds it (KubeVirt refuses it as it is here: "
        f"it lacks {lacks})"
    )
    (skipped,) = (
        DomainAuditor(["VNIC030", "VNIC071"], every_platform())
        .audit_domain(found, HostConfig(), "t")
        .skipped
    )
    assert (skipped.rule, skipped.needs) == ("*", found.unjudged)


@rows
def test_a_whole_vm_or_a_template_of_one_is_judged(text: str, nics: int) -> None:
    found = domain(text)
    assert (found.unjudged, len(found.nics)) == ("", nics)


TWICE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: web{0}}}
spec:
  running: true{1}
  preference: {{name: old{2}}}
  template:
    spec:
      domain:
        devices:
          disks: [{{name: d{3}}}]
          interfaces: [{{name: n, bridge: {{}}{4}}}]
          rng: {{}}{5}
      networks: [{{name: n, pod: {{}}{6}}}]
"""


@rows
def test_a_key_that_stands_twice_is_an_error_where_a_verdict_depends_on_it(
    position: int, twice: str, line: int | None
) -> None:
    said = ["", "", "", "", "", "", ""]
    said[position] = twice
    items = read(TWICE.format(*said))
    errors = [item for item in items if isinstance(item, ReadError)]
    assert [error.line for error in errors] == ([] if line is None else [line])
    assert all("appears twice" in error.message for error in errors)
    assert len([item for item in items if isinstance(item, Domain)]) == 1


def test_keys_that_stand_twice_in_a_preference_and_in_what_is_not_judged() -> None:
    preference = OLD % "pcnet, preferredInterfaceModel: virtio"
    error, found = read(preference)
    assert isinstance(error, ReadError)
    assert error.message == "the key 'preferredInterfaceModel' appears twice (also on line 4): " + (
        "the last one counts"
    )
    assert isinstance(found, Preference)
    assert read("apiVersion: kubevirt.io/v1\nkind: KubeVirt\nspec: {a: 1, a: 2}\n") == []


def test_one_object_on_each_line() -> None:
    vm = (
        '{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"name":"a"},'
        '"spec":{"domain":{"devices":{}}}}'
    )
    event = '{"apiVersion":"v1","kind":"Event","involvedObject":{"apiVersion":"kubevirt.io/v1"}}'
    assert read(f"{event}\n{event}\n", "events.jsonl") == []
    (found,) = read(f"{event}\n\n{vm}\n{event}\n", "events.jsonl")
    assert isinstance(found, Domain)
    assert (found.location.line, found.nics[0].location.xpath) == (3, "[2]/spec/domain")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    text = VMI.format(domain="{devices: {}}", networks="[]")
    data = b"\xef\xbb\xbf" + text.encode()
    assert looks_like(data)
    (found,) = read_bytes(data, target="t", file="vm.yaml")
    assert isinstance(found, Domain)
    assert str(found.nics[0].location) == "vm.yaml:5:11"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named_in_a_folder(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    text = VMI.format(domain="{devices: {}}", networks="[]")
    file.write_bytes(("\ufeff" + text).encode(encoding))
    (error,) = read_file(str(file), "t", every_platform().files, explicit=False)
    assert isinstance(error, ReadError)
    assert error.file == str(file)
    file.write_bytes("\ufeffapiVersion: v1\nkind: Pod\n".encode(encoding))
    assert list(read_file(str(file), "t", every_platform().files, explicit=False)) == []


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


def test_blank_lines_are_gone_through_once() -> None:
    """Gone through from each of them they would be 10^13 steps: that would not end."""
    assert not looks_like(b"apiVersion" + b"\n" * 4_000_000)
    assert looks_like(b"apiVersion\n" * 2 + b"\n" * 4_000_000 + b"apiVersion: kubevirt.io/v1\n")


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
        assert isinstance(item, Domain | ReadError | NotJudged)


PLACEHOLDERS = (
    "__MODEL__", '"((model))"', "((model))", '"[[ model ]]"', "[[ model ]]", '"#{model}#"',
    "#{model}#", "#{model}# # which", "'@MODEL@'", "$MODEL", "$model", "${MODEL}", "$(MODEL)",
    '"%MODEL%"', "<model>", "'{model}'", '"<%= model %>"', "'%(model)s'", "{{ model }}",
)  # fmt: skip


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_model_that_is_a_placeholder_is_not_known(placeholder: str) -> None:
    interfaces = (
        f"\n    devices:\n      interfaces:\n      - name: n\n        model: {placeholder}\n"
    )
    found = domain(VMI.format(domain=interfaces, networks="[{name: n, pod: {}}]"))
    declared = found.nics[0].declared
    assert (declared.model, declared.unseen) == (None, ("model",))


def test_a_model_with_a_comment_is_known() -> None:
    text = VMI.format(
        domain="\n    devices:\n      interfaces:\n      - name: n\n        model: # {none}\n",
        networks="[{name: n, pod: {}}]",
    )
    declared = domain(text).nics[0].declared
    assert (declared.model, declared.unseen) == (None, ())


@rows
def test_a_name_that_a_template_makes_is_shown_as_written_without_quotes(
    written: str, shown: str
) -> None:
    text = VMI.format(domain="{devices: {}}", networks="[]").replace(
        "name: a,", f"name: {written},"
    )
    assert domain(text).name == f"lab/{shown}"


def test_a_variable_that_breaks_the_yaml_is_named_as_a_template() -> None:
    text = VMI.format(domain="{cpu: {cores: ${CORES}}}", networks="[]")
    (error,) = read(text)
    assert isinstance(error, ReadError)
    assert (error.line, "template" in error.message) == (5, True)


LISTED = """\
{{
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {first},
        {{
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {{"name": "a", "namespace": "lab"}},
            "spec": {{"domain": {{"devices": {{"interfaces": [
                {{"name": "n", "bridge": {{}}, "model": "e1000"}}]}}}},
                "networks": [{{"name": "n", "multus": {{"networkName": "x"}}}}]}}
        }},
        {{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
          "metadata": {{"name": "x", "namespace": "lab"}},
          "spec": {{"config": "{{\\"type\\": \\"cnv-bridge\\"}}"}}}}
    ]
}}
"""


def test_a_list_of_kubectl_is_read_object_by_object() -> None:
    (nic,) = domain(LISTED.format(first='{"kind": "Pod"}')).nics
    assert (nic.wiring, nic.source) == ("secondary cnv-bridge", "lab/x")
    place = dict(nic.places)["model"]
    assert (place.line, place.column) == (10, 54)
    assert place.xpath == "/items/1/spec/domain/devices/interfaces/0/model"


def test_an_object_of_a_list_that_cannot_be_read_hides_no_other() -> None:
    deep = '{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "x": %s}'
    items = read(LISTED.format(first=deep % ("[" * 120 + "]" * 120)))
    assert [type(item) for item in items] == [ReadError, Domain]
    assert isinstance(items[0], ReadError)
    assert (items[0].message, items[0].line) == ("not read: nested more than 100 levels deep", 5)


def test_more_objects_than_a_document_of_yaml_may_have_values() -> None:
    values = ",".join(["0"] * 200_000)
    machine = (
        '{{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": '
        '{{"name": "m{}", "note": [{}]}}, "spec": {{"domain": {{"devices": {{"interfaces": '
        '[{{"name": "n", "masquerade": {{}}}}]}}}}, "networks": [{{"name": "n", "pod": {{}}}}]}}}}'
    )
    machines = ",".join(machine.format(number, values) for number in range(3))
    items = read(f'{{"apiVersion": "v1", "kind": "List", "items": [{machines}]}}')
    assert [item.name for item in items if isinstance(item, Domain)] == ["m0", "m1", "m2"]
    assert len(items) == 3
