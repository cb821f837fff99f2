"""A collection of definitions (``<domains>``, ``<node>``, a report) was passed over without a word
in a folder, and "no domain" where it was named: its root is none of libvirt's."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

GUEST = """<domain type='kvm'>
  <name>one</name>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/>
      <model type='rtl8139'/>
    </interface>
  </devices>
</domain>
"""
TWO = GUEST + GUEST.replace("one", "two")
WRAPPED = {
    "domains": (f"<domains>\n{TWO}</domains>\n", 2),
    "one": (f"<node>\n{GUEST}</node>\n", 1),
    "declared": (f"<?xml version='1.0'?>\n<!-- <x> -->\n<dump><a/>{TWO}</dump>\n", 2),
    "beside a name server's": (f"<site>\n<domain>example.org</domain>\n{GUEST}</site>\n", 1),
}


@pytest.mark.parametrize(("text", "guests"), WRAPPED.values(), ids=WRAPPED)
def test_every_definition_in_it_is_judged(tmp_path: Path, text: str, guests: int) -> None:
    path = tmp_path / "guests.xml"
    path.write_text(text)
    report = json.loads(inside("audit", "--format", "json", tmp_path).stdout)
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "rtl8139" in line]
    found = [one["location"]["line"] for one in report["findings"] if one["rule"] == "VNIC001"]
    assert found == lines
    assert report["summary"]["domains"] == guests


@pytest.mark.parametrize(
    "text",
    [
        "<domainCapabilities>\n<domain>kvm</domain>\n</domainCapabilities>\n",
        "<capabilities>\n<guest><arch name='x86_64'>\n<domain type='kvm'/>\n</arch></guest>\n"
        "</capabilities>\n",
        "<network>\n<name>n</name>\n<domain name='example.org'/>\n</network>\n",
        f"<!-- an example:\n{GUEST}-->\n",
    ],
)
def test_what_only_shares_the_name_is_no_guest(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.xml").write_text(text)
    result = inside("audit", "--format", "json", tmp_path)
    report = json.loads(result.stdout)
    assert (result.returncode, report["summary"]["domains"], report["findings"]) == (0, 0, [])
    assert report["targets"][0]["errors"] == []


@pytest.mark.parametrize("remark", [f"<!-- an example:\n{GUEST}-->\n", "<!-- <domain -->\n"])
def test_an_example_in_a_remark_is_no_guest(tmp_path: Path, remark: str) -> None:
    """Where several definitions follow it; before a single one it never was."""
    virtio = TWO.replace("rtl8139", "virtio")
    (tmp_path / "guests.xml").write_text(remark + virtio)
    report = json.loads(inside("audit", "--format", "json", tmp_path).stdout)
    assert (report["summary"]["domains"], report["findings"]) == (2, [])
    assert report["targets"][0]["errors"] == []
