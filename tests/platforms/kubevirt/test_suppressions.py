"""Suppressions in the annotations of a virtual machine."""

import json
from pathlib import Path

from tests.cli.inside import inside
from tests.rows import rows

MANIFEST = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: pbx
  annotations:
    other: x
    suppress.vnicaudit/{rule}: {value}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces:
          - name: default
            masquerade: {{}}
            model: e1000
      networks:
      - name: default
        pod: {{}}
"""


def report(folder: Path, value: str, rule: str = "VNIC071") -> dict[str, list[dict[str, object]]]:
    """The report on the machine with this annotation."""
    path = folder / "vm.yaml"
    path.write_text(MANIFEST.format(rule=rule, value=value))
    done = inside("audit", path, "--format", "json", "--select", "VNIC071")
    found: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
    return found


@rows
def test_a_finding_is_accepted(tmp_path: Path, value: str, reason: str) -> None:
    found = report(tmp_path, value)
    assert found["findings"] == []
    assert [one["reason"] for one in found["suppressed"]] == [reason]


@rows
def test_one_that_does_not_hold(tmp_path: Path, value: str, rule: str, about: str) -> None:
    found = report(tmp_path, value, rule)
    assert {one["rule"] for one in found["findings"]} == {"VNIC071", about}
    assert found["suppressed"] == []
