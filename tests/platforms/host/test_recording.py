"""Recordings of hosts: what is kept, and that they are judged as the host was."""

import json
from pathlib import Path

import pytest

from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host, Section
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.platforms.host.visiting.recording import read_recording, write_recording
from vnicaudit.platforms.host.visiting.visit import read_recorded, read_visit

QEMU = "\0".join((
    "/proc/7/cmdline", "/usr/bin/qemu-system-x86_64", "-machine", "q35", "-nodefaults",
    "-name", "guest=web", "-object", "secret,id=k0,data=bm90IHRvbGQ=", "-object",
    '{"qom-type":"secret","id":"k1","data":"bm90IHRvbGQ="}', "-drive",
    "file=rbd:vms/disk:id=nova:password=hush,if=none", "--drive",
    "file=rbd:vms/disk:id=nova:key=hush==,if=virtio", "-append", "rd.luks.key=hush", "-fw_cfg",
    "name=opt/x,string=hush", "-smbios", "type=1,product=OpenStack Nova,serial=hush", "-blockdev",
    '{"driver":"file","filename":"/var/lib/one/datastores/0/d","x":"hush"}', "-device",
    "virtio-net-pci,id=net0,mac=52:54:00:00:00:01", "",
))  # fmt: skip
NAMES = "/proc/sys/kernel/hostname\0kvm1\n/proc/sys/kernel/arch\0x86_64\n"


def test_this_machine_is_judged_by_its_recording(tmp_path: Path) -> None:
    path = str(tmp_path / "a.json")
    host, facts, *_guests = read_visit("local", LiveOptions(record=path))
    again, recorded, *_more = read_recorded(path, LiveOptions())
    assert again == host
    assert isinstance(facts, HostFacts)
    assert isinstance(recorded, HostFacts)
    assert (facts.source, recorded.source) == ("live", "recording")
    assert recorded.links == facts.links
    assert recorded.cpus == facts.cpus
    target = every_platform().targets
    assert [kind.kind for kind in target if kind.name_of(path) is not None] == ["recording"]


def test_only_its_owner_can_read_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.touch(mode=0o644)
    write_recording(str(path), "local", [])
    assert path.stat().st_mode & 0o777 == 0o600


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    sections = [Section("device texts", NAMES, 0), Section("qemu", QEMU, 0)]
    write_recording(str(path), "ssh://kvm1", sections)
    text = path.read_text()
    assert "bm90" not in text
    assert "hush" not in text
    assert "if=virtio" in text
    assert "/var/lib/one/datastores/0/d" in text
    assert "product=OpenStack Nova" in text
    host, _facts, guest = read_recorded(str(path), LiveOptions())
    assert isinstance(host, Host)
    assert isinstance(guest, LiveDomain)
    assert (host.name, guest.domain.name, guest.domain.location.target) == (
        "kvm1",
        "web",
        str(path),
    )
    assert guest.domain.nics[0].mac == "52:54:00:00:00:01"


def test_a_secret_of_one_tunnel_leaves_the_other_ports(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    row = '[["vx0","vxlan",["map",[["key","5"],["psk","a \\" hush"],["remote_ip","192.0.2.7"]]]]]'
    rows = f'{{"data":{row},"headings":["name","type","options"]}}'
    write_recording(str(path), "ssh://kvm1", [Section("tables", rows, 0)])
    (kept,) = read_recording(str(path)).sections
    data = json.loads(kept.text)["data"]
    assert data == [
        ["vx0", "vxlan", ["map", [["key", "5"], ["***", "***"], ["remote_ip", "192.0.2.7"]]]]
    ]


@pytest.mark.parametrize("end", [None, -1])
def test_ids_of_others_are_not_kept(tmp_path: Path, end: int | None) -> None:
    """Whoever manages Open vSwitch may put anything there, under any name."""
    path = tmp_path / "a.json"
    ids = '["map",[["system-id","7"],["note","hush"],["a","b","hush"],[["x"],"hush"],"hush"]]'
    row = f'[["0","x"],{ids},"3.5.0"],["1","hush","3.5.0"]'
    rows = f'{{"data":[{row}],"headings":["_uuid","external_ids","ovs_version"]}}'[:end]
    write_recording(str(path), "ssh://kvm1", [Section("tables", rows, 0)])
    assert "hush" not in path.read_text()
    (kept,) = read_recording(str(path)).sections
    assert end or json.loads(kept.text)["data"] == [
        [["0", "x"], ["map", [["system-id", "7"]]], "3.5.0"],
        ["1", ["map", []], "3.5.0"],
    ]


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"schema": "vnicaudit.host-facts/1", "place', '{"schema": "vnicaudit.report/1"}'],
)
def test_what_is_no_whole_recording_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(TargetError):
        read_recording(str(path))


def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as error:
        write_recording(str(tmp_path / "none" / "a.json"), "local", [])
    assert error.value.message.startswith("cannot be written")
