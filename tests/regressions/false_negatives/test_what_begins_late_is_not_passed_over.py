"""A kind was told by the first 64 KiB of a file: what came behind a longer remark, or as the last
of many tasks, was passed over without a word in a folder."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside
from vnicaudit.audit.reading.files import HEAD, WHOLE

LINES = 8000
LICENCE = "# a line of a licence\n" * LINES
GUEST = """<domain type='kvm'>
  <name>one</name>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
  </devices>
</domain>
"""
MACHINE = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm1}
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        devices:
          interfaces:
          - {name: default, model: rtl8139, masquerade: {}}
      networks:
      - {name: default, pod: {}}
"""
TASKS = "".join(f"    - name: task {n}\n      debug: {{msg: hello}}\n" for n in range(LINES // 4))
IMAGE = """    - name: an image
      openstack.cloud.image:
        name: x
        filename: /x
        properties: {hw_vif_model: rtl8139}
"""
TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n" + (
    "    a line of a text\n" * LINES
)
INDENTED = "  guest.xml: |\n" + "".join(f"    {line}\n" for line in GUEST.splitlines())
LATE = {
    "domain": (f"<!--\n{LICENCE}-->\n{GUEST}", "VNIC001"),
    "manifest": (LICENCE + MACHINE, "VNIC071"),
    "task": (f"- hosts: all\n  tasks:\n{TASKS}{IMAGE}", "VNIC062"),
    "text of a manifest": (TEXT + INDENTED, "VNIC001"),
    "commands": (
        f"#!/bin/sh\n{LICENCE}openstack image set --property hw_vif_model=rtl8139 x\n",
        "VNIC062",
    ),
}


@pytest.mark.parametrize(("text", "rule"), LATE.values(), ids=LATE)
def test_it_is_judged(tmp_path: Path, text: str, rule: str) -> None:
    assert HEAD < len(text) < WHOLE
    (tmp_path / "late").write_text(text)
    report = json.loads(inside("audit", "--format", "json", tmp_path).stdout)
    (found,) = report["findings"]
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "rtl8139" in line]
    assert (found["rule"], [found["location"]["line"]]) == (rule, lines)


def test_a_large_text_about_something_else_is_none(tmp_path: Path) -> None:
    (tmp_path / "nova-compute.log").write_text(
        "2026-11-22 INFO nova.virt.libvirt: Ensure instance <domain type='kvm'> openstack\n" * LINES
    )
    result = inside("audit", "--format", "json", tmp_path)
    report = json.loads(result.stdout)
    assert (result.returncode, report["findings"], report["targets"][0]["errors"]) == (0, [], [])
