"""Two NICs of a template of which a guest gets one were "different models in one guest", and one
MAC address twice; Terraform's ``%{ if }`` was no template at all, and a model behind it "has
invalid characters"."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

MAC = "52:54:00:12:34:56"
TAGS = {
    "jinja": ("{% if a %}", "{% else %}", "{% endif %}"),
    "go": ("{{- if .a }}", "{{- else }}", "{{- end }}"),
    "erb": ("<% if @a %>", "<% else %>", "<% end %>"),
    "terraform": ("%{ if a }", "%{ else ~}", "%{ endif ~}"),
    "terraform, quotes": ('%{~ if a == "<b>" ~}', "%{ else }", "%{endif}"),
    "two conditions": ("{% if a %}", "{% endif %}{% if not a %}", "{% endif %}"),
}


def rules(path: Path) -> set[str]:
    """The rules with findings in a file that is read whole."""
    report = json.loads(inside("audit", "--format", "json", path).stdout)
    assert report["targets"][0]["errors"] == []
    return {found["rule"] for found in report["findings"]}


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
