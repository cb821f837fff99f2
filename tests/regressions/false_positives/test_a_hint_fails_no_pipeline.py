"""A guest as virt-install makes it, with four vCPUs and nothing wrong with it, failed a pipeline by
a finding of low confidence. A hint is reported, and fails nothing unless that is asked for. What
was asked for reached JUnit alone: in the other formats only low confidence was a hint."""

import json
from pathlib import Path

import pytest
from lxml import etree

from tests.cli.inside import inside
from tests.rows import rows_of_tuples

STOCK = """<domain type="kvm">
  <name>ubuntu22.04</name>
  <metadata>
    <libosinfo:libosinfo xmlns:libosinfo="http://libosinfo.org/xmlns/libvirt/domain/1.0">
      <libosinfo:os id="http://ubuntu.com/ubuntu/22.04"/>
    </libosinfo:libosinfo>
  </metadata>
  <memory>4194304</memory>
  <currentMemory>4194304</currentMemory>
  <vcpu>4</vcpu>
  <os><type arch="x86_64" machine="q35">hvm</type><boot dev="hd"/></os>
  <features><acpi/><apic/></features>
  <cpu mode="host-passthrough"/>
  <clock offset="utc"/>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type="file" device="disk">
      <driver name="qemu" type="qcow2" discard="unmap"/>
      <source file="/var/lib/libvirt/images/ubuntu22.04.qcow2"/>
      <target dev="vda" bus="virtio"/>
    </disk>
    <interface type="bridge">
      <source bridge="br0"/>
      <mac address="52:54:00:1b:00:01"/>
      <model type="virtio"/>
    </interface>
  </devices>
</domain>
"""
"""What ``virt-install --osinfo ubuntu22.04 --vcpus 4 --network bridge=br0 --print-xml`` comes to,
without consoles, channels and USB."""


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    path = tmp_path / "stock.xml"
    path.write_text(STOCK)
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are looked for from here upwards."""
    monkeypatch.chdir(tmp_path)


@rows_of_tuples
def test_no_format_fails_for_what_does_not_fail_the_run(
    stock: Path, finding: str, fails: str, levels: tuple[str, str, str]
) -> None:
    """A wrong value, which a libvirt after those that were compared may take."""
    if finding != "low":
        stock.write_text(STOCK.replace('"virtio"/>', '"virtio"/><driver name="x" queues="4"/>'))
    version = "13.0" if finding == "medium" else "9.0"
    given = (stock, "--assume-libvirt", version)
    env = {"VNICAUDIT_CONFIDENCE": fails} if fails else {}
    line = inside("audit", *given, "--format", "github", env=env).stdout.partition(" ")[0]
    sarif = json.loads(inside("audit", *given, "--format", "sarif", env=env).stdout)
    (result,) = sarif["runs"][0]["results"]
    (entry,) = json.loads(inside("audit", *given, "--format", "gitlab", env=env).stdout)
    assert (line.strip(":"), result["level"], entry["severity"]) == levels
    assert result["properties"]["confidence"] == finding
    junit = etree.fromstring(inside("audit", *given, "--format", "junit", env=env).stdout.encode())
    code = inside("audit", *given, env=env).returncode
    assert junit[0].get("failures") == str(code) == ("1" if levels[0] != "notice" else "0")
