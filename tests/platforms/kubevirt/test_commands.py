"""Manifests on the command line: what is shown of them, and what is no error."""

import json
from pathlib import Path

from tests.cli.inside import inside as vnicaudit

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  preference: {name: old}
  template:
    spec:
      domain: {cpu: {cores: 2}, devices: {interfaces: [{name: n, bridge: {}}]}}
      networks: [{name: n, multus: {networkName: vlan}}]
"""
BESIDE = """\
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: vlan}
spec: {config: '{"type": "ovn-k8s-cni-overlay"}'}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterPreference
metadata: {name: old, labels: {instancetype.kubevirt.io/os-type: linux}}
spec: {devices: {preferredInterfaceModel: rtl8139}}
"""


def test_nics_shows_the_wiring(tmp_path: Path) -> None:
    (tmp_path / "vm.yaml").write_text(VM)
    (tmp_path / "beside.yaml").write_text(BESIDE)
    result = vnicaudit("nics", str(tmp_path / "vm.yaml"))
    assert result.returncode == 0
    assert "ovn-secondary" in result.stdout
    result = vnicaudit("nics", str(tmp_path / "vm.yaml"), "--format", "json")
    (nic,) = json.loads(result.stdout)["nics"]
    assert (nic["wiring"], nic["type"], nic["owner"]) == ("ovn-secondary", "ethernet", "kubevirt")
    assert nic["model"]["reason"] == "KubeVirt: preferredInterfaceModel of preference 'old'"


def test_explain_names_the_manifest_and_the_preference(tmp_path: Path) -> None:
    (tmp_path / "vm.yaml").write_text(VM)
    wide = {"COLUMNS": "1000"}  # a path breaks no line
    result = vnicaudit("explain", str(tmp_path / "vm.yaml"), "--nic", "0", env=wide)
    assert result.returncode == 0
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert any(line.startswith("Manifest ") for line in lines)
    assert "Preference old" in lines
    assert "not known: the preference itself, in the same folder, would show it" in lines
    assert "libvirt" not in result.stdout


def test_a_named_file_of_attachments_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "nad.yaml"
    file.write_text(BESIDE.partition("---")[0])
    result = vnicaudit("audit", str(file))
    assert (result.returncode, result.stderr) == (0, "")


def test_a_key_that_stands_twice_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_text(VM.replace("bridge: {}", "bridge: {}, model: pcnet, model: e1000"))
    result = vnicaudit("audit", str(file), "--select", "VNIC071")
    assert "the key 'model' appears twice (also on line 8): the last one counts" in " ".join(
        result.stdout.split()
    )
    assert "e1000 is emulated packet by packet" in " ".join(result.stdout.split())
    assert result.returncode == 4


def test_a_template_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_text(VM.replace("cores: 2", "cores: {{ .x }} }} ["))
    result = vnicaudit("audit", str(file))
    assert f"{file}:" in result.stdout.replace("\n", "")
    assert result.returncode == 4


def test_what_a_preference_cannot_say_of_itself_is_said_of_the_vm(tmp_path: Path) -> None:
    """It does not tell what guests it is for, and is skipped; the VM does tell."""
    file = tmp_path / "vm.yaml"
    file.write_text(
        "apiVersion: kubevirt.io/v1\n"
        "kind: VirtualMachine\n"
        "metadata: {name: web, labels: {kubevirt.io/os: fedora40}}\n"
        "spec:\n"
        "  preference: {name: old}\n"
        "  template:\n"
        "    spec:\n"
        "      domain: {devices: {interfaces: [{name: default, masquerade: {}}]}}\n"
        "      networks: [{name: default, pod: {}}]\n"
        "---\n"
        "apiVersion: instancetype.kubevirt.io/v1beta1\n"
        "kind: VirtualMachineClusterPreference\n"
        "metadata: {name: old}\n"
        "spec: {devices: {preferredInterfaceModel: e1000}}\n"
    )
    result = vnicaudit("audit", "vm.yaml", "--format", "github", cwd=tmp_path)
    assert result.stdout.count("VNIC071") == 1
    assert "file=vm.yaml,line=8,col=39,title=VNIC071" in result.stdout
    assert "e1000 (from preference 'old') is emulated" in result.stdout
