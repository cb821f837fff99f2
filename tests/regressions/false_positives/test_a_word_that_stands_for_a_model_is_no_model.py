"""Placeholders without brackets (``NICDRIVER`` beside ``GUESTNAME`` and ``MEMORY``, ``XXXXXXX``)
were called models that QEMU does not know, with a fix that edits the placeholder away."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside
from tests.rows import rows

GUEST = """<domain type='kvm'>
  <name>{name}</name>
  <memory>{memory}</memory>
  <vcpu>{vcpu}</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><target dev='vda' bus='virtio'/></disk>
    <interface type='{type}'>
      <mac address='{mac}'/>
      <source network='default'/>
      <model type='{model}'/>
    </interface>
  </devices>
</domain>
"""
PLAIN = {
    "name": "web", "memory": "1024", "vcpu": "2", "type": "network", "mac": "52:54:00:00:00:01",
    "model": "virtio",
}  # fmt: skip


def audited(path: Path, **values: str) -> dict[str, Any]:
    """The report on a guest with these values."""
    path.write_text(GUEST.format(**PLAIN | values))
    report: dict[str, Any] = json.loads(inside("audit", "--format", "json", path).stdout)
    return report


@rows
def test_a_placeholder_is_no_unknown_model_and_is_not_edited_away(
    tmp_path: Path, values: dict[str, str]
) -> None:
    path = tmp_path / "guest.xml"
    report = audited(path, **values)
    assert report["findings"] == []
    assert next(s["needs"] for s in report["skipped"] if s["rule"] == "*").startswith(
        "the rendered definition: here a template decides model"
    )
    before = path.read_text()
    assert inside("audit", "--fix", "--include-unsafe", path).returncode == 0
    assert path.read_text() == before


@pytest.mark.parametrize("values", [{}, {"name": "GUESTNAME", "memory": "MEMORY"}])
@pytest.mark.parametrize("model", ["RTL8139", "Rtl8139"])
def test_a_model_in_capitals_is_judged_as_libvirt_reads_it(
    tmp_path: Path, values: dict[str, str], model: str
) -> None:
    """libvirt reads its own names without regard to case; others it hands to QEMU as they are."""
    report = audited(tmp_path / "guest.xml", model=model, **values)
    assert "rtl8139" in report["findings"][0]["message"]
    assert "no NIC model" not in report["findings"][0]["message"]
    report = audited(tmp_path / "guest.xml", model="PCNET", **values)
    assert [f["rule"] for f in report["findings"]] == ["VNIC007"]
