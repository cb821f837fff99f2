"""A file with two kinds of content was judged by the kind that was recognised first, and the rest
was dropped: a play with an image and a guest of libvirt was "No problems in 1 image", exit 0."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside

DOMAIN = """<domain type='kvm'>
  <name>inline</name>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/>
      <model type='rtl8139'/>
    </interface>
  </devices>
</domain>
"""


def lines(text: str) -> list[str]:
    """The lines of a text, with their ends."""
    return text.splitlines(keepends=True)


def indented(text: str, by: int) -> str:
    """Every line of a text moved to the right."""
    return "".join(" " * by + line for line in lines(text))


CONFIG_MAP = f"""apiVersion: v1
kind: ConfigMap
metadata: {{name: definitions}}
data:
  guest.xml: |
{indented(DOMAIN, 4)}"""
MACHINE = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm1}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - {name: default, model: e1000, masquerade: {}}
      networks:
      - {name: default, pod: {}}
"""
IMAGE_PLAY = """- hosts: kvm
  tasks:
    - name: an image for OpenStack
      openstack.cloud.image:
        name: debian
        filename: debian.qcow2
        disk_format: qcow2
        container_format: bare
        state: present
        properties:
          hw_vif_model: e1000
"""
GUEST_PLAY = f"""- hosts: kvm
  tasks:
    - name: a guest
      community.libvirt.virt:
        command: define
        xml: |
{indented(DOMAIN, 10)}"""
HEAT = """heat_template_version: 2018-08-31
resources:
  image:
    type: OS::Glance::WebImage
    properties:
      name: debian
      hw_vif_model: e1000
      extra_properties: {hw_vif_model: e1000}
"""
NOVA = """[DEFAULT]
compute_driver = libvirt.LibvirtDriver
[libvirt]
use_virtio_for_bridges = false
"""
SCRIPT = "openstack image create --property hw_vif_model=e1000 --file a.qcow2 debian\n"

DOCUMENTS = {
    "config-map": (CONFIG_MAP, "inline"),
    "kubevirt": (MACHINE, "vm1"),
    "image-play": (IMAGE_PLAY, "debian"),
    "guest-play": (GUEST_PLAY, "inline"),
    "heat": (HEAT, "debian"),
}
"""Documents of one YAML file, and whom each is about."""


def audited(path: Path, code: int = 1) -> list[dict[str, Any]]:
    """The findings of one file."""
    result = inside("audit", "--format", "json", path)
    assert result.returncode == code, result.stdout + result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


def lines_of(findings: list[dict[str, Any]], first: int, text: str) -> list[int]:
    """The lines of findings that lie in a part of the file."""
    last = first + text.count("\n")
    return [f["location"]["line"] for f in findings if first <= f["location"]["line"] < last]


@pytest.mark.parametrize("pair", list(permutations(DOCUMENTS, 2)), ids="+".join)
def test_both_documents_of_a_file_are_judged(tmp_path: Path, pair: tuple[str, str]) -> None:
    one, other = (DOCUMENTS[name][0] for name in pair)
    path = tmp_path / "site.yml"
    path.write_text(f"---\n{one}---\n{other}")
    findings = audited(path)
    assert lines_of(findings, 2, one), pair[0]
    assert lines_of(findings, 3 + one.count("\n"), other), pair[1]
    folder = inside("audit", "--format", "json", tmp_path)
    assert len(json.loads(folder.stdout)["findings"]) == len(findings)


def test_a_plan_of_a_file_with_two_kinds_changes_the_guest_alone(tmp_path: Path) -> None:
    path, plan, state = tmp_path / "play.yml", tmp_path / "plan.json", tmp_path / "state"
    before = IMAGE_PLAY + "".join(lines(GUEST_PLAY)[2:])
    path.write_text(before)
    inside("plan", path, "--include-unsafe", "-o", plan)
    steps = json.loads(plan.read_text())["steps"]
    assert [step["about"]["name"] for step in steps] == ["inline"]
    apply = ("apply", plan, "--mode", "next-boot", "--include-unsafe", "--yes", "--state", state)
    assert inside(*apply).returncode == 0
    assert path.read_text() == before.replace("'rtl8139'", "'virtio'")
    (run,) = json.loads(inside("runs", "--state", state, "--format", "json").stdout)["runs"]
    assert inside("rollback", run["id"], "--yes", "--state", state).returncode == 0
    assert path.read_text() == before
