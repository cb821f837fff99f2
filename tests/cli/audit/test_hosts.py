"""Hosts themselves as targets: their findings in reports, and options for visits."""

import html
import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.reports.redaction.planting import unpacked

LINKS = [
    {"ifname": "tap9", "mtu": 1500, "flags": ["UP"], "linkinfo": {"info_kind": "tun"}},
    {"ifname": "eth0", "mtu": 1500, "flags": ["UP"]},
]
QEMU = (
    "/proc/7/cmdline", "qemu-kvm", "-nodefaults", "-name", "guest=web", "-netdev",
    "tap,id=n0,fd=31", "-device", "virtio-net-pci,netdev=n0,id=net0,host_mtu=9000", "",
)  # fmt: skip
SECTIONS = {
    "device texts": "/proc/sys/kernel/hostname\0kvm1\n/proc/sys/kernel/arch\0x86_64\n",
    "ip -j -d -s -s link": json.dumps(LINKS),
    "qemu": "\0".join(QEMU),
    "qemu taps": "/proc/7/fdinfo/31\0iff:\ttap9\n",
}
MESSAGE = "tap9 has an MTU of 1500, and carries web with 9000: larger frames are dropped"
ONLY = ("--select", "VNIC048")
_PRE = re.compile(r"<pre[^>]*>(.*?)</pre>", re.S)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "kvm1.json"
    sections = [{"name": name, "text": text, "code": 0} for name, text in SECTIONS.items()]
    told = {"schema": "vnicaudit.host-facts/1", "version": "0.1.0", "place": "ssh://kvm1"}
    path.write_text(json.dumps(told | {"recorded": "2026-11-29T23:00:00Z", "sections": sections}))
    return path


def test_a_finding_on_a_link_stands_under_its_host(recording: Path) -> None:
    shown = inside("audit", recording.name, *ONLY, cwd=recording.parent)
    assert shown.returncode == 1
    assert shown.stdout.startswith(
        "1 of 1 NIC is slow. 1 problem in 1 host (1 medium)\n\nkvm1  host\n"
        f"  medium  VNIC048  link tap9  kvm1.json\n    {MESSAGE}\n"
    )


def test_each_format_says_which_link(recording: Path) -> None:
    report = json.loads(inside("audit", recording, *ONLY, "--format", "json").stdout)
    (finding,) = report["findings"]
    assert (finding["about"]["kind"], finding["about"]["name"]) == ("link", "tap9")
    assert finding["message"] == MESSAGE
    assert report["summary"]["domains"] == report["summary"]["nics"] == 1
    sarif = json.loads(inside("audit", recording, *ONLY, "--format", "sarif").stdout)
    (result,) = sarif["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["logicalLocations"][0] == {
        "name": "tap9", "fullyQualifiedName": "tap9", "kind": "link",
    }  # fmt: skip
    assert "| `tap9` |" in inside("audit", recording, *ONLY, "--format", "markdown").stdout


def test_a_redacted_report_names_neither_host_nor_guest(recording: Path) -> None:
    text = inside("audit", recording, *ONLY, "--redact", "--format", "json").stdout
    assert "VNIC048" in text
    for name in ("kvm1", "tap9", '"web"', " web "):
        assert name not in text


DIVIDED = "".join(
    f"{path}\0{text}\n"
    for path, text in (
        ("/sys/devices/system/cpu/online", "0-3"),
        ("/sys/devices/system/cpu/isolated", "2-3"),
        ("/etc/tuned/openshift-node-performance-acme/tuned.conf", "[main]"),
    )
)


def test_a_page_draws_how_the_cpus_of_a_host_are_divided(recording: Path) -> None:
    told = json.loads(recording.read_text())
    told["sections"].append({"name": "files", "text": DIVIDED, "code": 0})
    recording.write_text(json.dumps(told))
    drawn = inside("host", "cpus", recording, env={"COLUMNS": "100"}).stdout
    command = ("audit", recording, *ONLY, "--format", "html")
    (matrix,) = _PRE.findall(inside(*command).stdout)
    assert html.unescape(matrix) + "\n" == drawn
    assert "-acme/tuned.conf" in drawn
    redacted = unpacked(inside(*command, "--redact").stdout)
    (matrix,) = _PRE.findall(redacted)
    assert html.unescape(matrix).splitlines()[2:] == drawn.splitlines()[2:]
    assert not [name for name in ("acme", "kvm1", "tap9", '"web"', " web ") if name in redacted]


def test_a_page_of_a_host_that_nobody_divided_has_no_matrix(recording: Path) -> None:
    page = inside("audit", recording, *ONLY, "--format", "html").stdout
    assert "<pre" not in page
    assert "which CPUs" not in page


def test_a_recording_is_not_planned(recording: Path) -> None:
    refused = inside("plan", recording)
    assert refused.returncode == 2
    assert "a copy of a host's files cannot be changed" in refused.stderr


def test_this_machine_in_a_fleet(tmp_path: Path) -> None:
    inventory = tmp_path / "fleet.toml"
    inventory.write_text('[[hosts]]\nname = "here"\nuri = "local"\nworkload = "streaming"\n')
    shown = inside(
        "audit", "-i", inventory, "--window", "0", "--state", tmp_path, "--format", "json"
    )
    report = json.loads(shown.stdout)
    assert [(each["target"], each["name"]) for each in report["targets"]] == [("local", "here")]
    assert report["targets"][0]["status"] != "failed"  # other processes here may be anybody's
    checked = inside("fleet", "inventory", "-i", inventory, "--check")
    assert "workload streaming" in checked.stdout
    assert f"answers: {os.uname().nodename}, Linux" in checked.stdout
    planned = inside("plan", "-i", inventory, "--state", tmp_path)
    assert (planned.returncode, "Read 1 of 1 host" in planned.stderr) == (0, True)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("qemu:///system", "--record", "a.json"), "--record is for one host"),
        (("local://", "netns://a", "--record", "a.json"), "--record is for one host"),
        (("local://", "--record", "a.json", "--redact"), "record without --redact"),
        (("local://", "--workload", "much"), "'much' is not one of"),
        (("local://", "--window", "-1"), "not in the range"),
    ],
)
def test_options_that_make_no_sense_are_refused(words: tuple[str, ...], why: str) -> None:
    refused = inside("audit", *words)
    assert refused.returncode == 2
    assert why in refused.stderr


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ('link = "tap*"', 0),
        ('host = "kvm?"', 0),
        ('host = "kvm1"\nlink = "tap9"', 0),
        ('host = "kvm2"\nlink = "tap9"', 1),
        ('link = "eth0"', 1),
        ('domain = "web"', 1),
        ('domain = "web"\nlink = "tap9"', 2),
    ],
)
def test_a_finding_on_a_link_is_accepted(recording: Path, entry: str, code: int) -> None:
    settings = recording.parent / "vnicaudit.toml"
    settings.write_text(f'[[suppress]]\nrule = "VNIC048"\nreason = "until the move"\n{entry}\n')
    shown = inside("audit", recording, *ONLY, "--config", settings, "--format", "json")
    assert shown.returncode == code, shown.stderr
    if code < 2:
        report = json.loads(shown.stdout)
        assert len(report["suppressed"]) == 1 - code
        assert [one["rule"] for one in report["findings"]] == ["VNIC048", "SUPP002"] * code
