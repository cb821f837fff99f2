"""Two NICs of a template of which a guest gets one were "different models in one guest", and one
MAC address twice; Terraform's ``%{ if }`` was no template at all, and a model behind it "has
invalid characters"."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

MAC = "52:54:00:12:34:56"
NICS = """    IF
    <interface type='bridge'>
      <mac address='MAC'/>
      <source bridge='br0'/>
      <model type='virtio'/>
    </interface>
    ELSE
    <interface type='bridge'>
      <mac address='MAC'/>
      <source bridge='br0'/>
      <model type='e1000'/>
    </interface>
    END
"""
GUEST = f"""<domain type='kvm'>
  <name>one</name>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
{NICS.replace("MAC", MAC)}  </devices>
</domain>
"""
TAGS = {
    "jinja": ("{% if a %}", "{% else %}", "{% endif %}"),
    "go": ("{{- if .a }}", "{{- else }}", "{{- end }}"),
    "erb": ("<% if @a %>", "<% else %>", "<% end %>"),
    "terraform": ("%{ if a }", "%{ else ~}", "%{ endif ~}"),
    "terraform, quotes": ('%{~ if a == "<b>" ~}', "%{ else }", "%{endif}"),
    "two conditions": ("{% if a %}", "{% endif %}{% if not a %}", "{% endif %}"),
}


def filled(begin: str, between: str, end: str) -> str:
    """The guest as a template with these tags."""
    return GUEST.replace("IF", begin).replace("ELSE", between).replace("END", end)


def rules(path: Path) -> set[str]:
    """The rules with findings in a file that is read whole."""
    report = json.loads(inside("audit", "--format", "json", path).stdout)
    assert report["targets"][0]["errors"] == []
    return {found["rule"] for found in report["findings"]}


@pytest.mark.parametrize("tags", TAGS.values(), ids=TAGS)
def test_one_or_the_other(tmp_path: Path, tags: tuple[str, str, str]) -> None:
    path = tmp_path / "guest.xml.tpl"
    path.write_text(filled(*tags))
    assert rules(path) == {"VNIC002"}


def test_both_without_a_condition(tmp_path: Path) -> None:
    path = tmp_path / "guest.xml"
    path.write_text(filled("", "", "").replace("<name>one", "<name>{{ name }}"))
    assert rules(path) >= {"VNIC002", "VNIC009", "VNIC016"}


def test_in_terraform_code_too(tmp_path: Path) -> None:
    path = tmp_path / "main.tf"
    text = filled(*TAGS["terraform"])
    path.write_text(f"locals {{\n  domain = <<-EOT\n{text}EOT\n}}\n")
    assert rules(path) == {"VNIC002"}


@pytest.mark.parametrize("value", ["%{ if a }virtio%{ else }e1000%{ endif }", "%{model}"])
def test_a_model_that_a_directive_decides_is_no_model(tmp_path: Path, value: str) -> None:
    path = tmp_path / "guest.xml.tftpl"
    path.write_text(filled("", "", "").replace("virtio", value).replace("e1000", value))
    assert not rules(path) & {"VNIC002", "VNIC007", "VNIC009", "VNIC015"}


MACHINE = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: one}
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        devices:
          interfaces:
          IF
          - {name: default, macAddress: "52:54:00:12:34:56", model: e1000, masquerade: {}}
          ELSE
          - {name: default, macAddress: "52:54:00:12:34:56", model: virtio, masquerade: {}}
          END
      networks:
      - {name: default, pod: {}}
"""


@pytest.mark.parametrize("tags", [TAGS["jinja"], TAGS["go"]], ids=["jinja", "go"])
def test_in_a_manifest_too(tmp_path: Path, tags: tuple[str, str, str]) -> None:
    begin, between, end = tags
    path = tmp_path / "vm.yaml"
    path.write_text(MACHINE.replace("IF", begin).replace("ELSE", between).replace("END", end))
    assert rules(path) == {"VNIC071"}
    path.write_text("".join(MACHINE.split("          IF\n")).replace("ELSE", "").replace("END", ""))
    assert rules(path) == {"VNIC071", "VNIC016", "VNIC076"}
