"""A sosreport, or the sysinfo of a must-gather, as a target."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import subprocess
import sys
import tarfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import vnicaudit
from tests.platforms.sosreport.reports import BRIDGED, FILES, LINKS, NAME, member, packed, report
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import DomainState
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.host import archive
from vnicaudit.platforms.host.archive import ArchiveFiles, is_archive
from vnicaudit.platforms.host.copied_tree import CopiedTree, FolderFiles
from vnicaudit.platforms.host.readings import HostCommand, HostFact
from vnicaudit.platforms.sosreport import report_of, reports_of
from vnicaudit.platforms.sosreport.read import TreeReadings, is_failure, read

FEATURES = HostCommand("ethtool -k '*'", ("sos_commands/networking/ethtool_-k_*",))
TABLE = HostCommand("ovs-vsctl list", ("sos_commands/openvswitch/*ovs-vsctl_list",))
SHOWN = HostCommand("ovs-appctl show", ("sos_commands/openvswitch/*ovs-appctl_show_*",))
PLAIN = HostCommand("ethtool", ("sos_commands/networking/ethtool_[!-]*",))
FACT = HostFact("test", lambda _readings: {}, commands=(FEATURES, TABLE, SHOWN, PLAIN))


def _audit(target: Path) -> tuple[int, dict[str, Any]]:
    ran = vnicaudit("audit", target, "--format", "json")
    return ran.returncode, json.loads(ran.stdout)


def _guests(target: Path) -> list[tuple[str, bool | None]]:
    found = (each.domain for each in read(str(target)) if isinstance(each, LiveDomain))
    return [(each.name, None if each.state is None else each.state.active) for each in found]


@pytest.mark.parametrize("form", ["folder", "tar", "tar.gz", "tar.xz"])
def test_each_guest_is_read_once_and_no_link_is_an_error(tmp_path: Path, form: str) -> None:
    target = report(tmp_path / "case" / "sosreport-compute4")
    if form != "folder":
        target = packed(target, tmp_path / f"case.{form}")
    assert report_of(str(target)) == str(target)
    found = list(read(str(target)))
    assert not [each for each in found if isinstance(each, ReadError | NotJudged)]
    (host,) = (each for each in found if isinstance(each, Host))
    assert (host.name, host.declared.vhost_net) == ("compute4", True)
    (facts,) = (each for each in found if isinstance(each, HostFacts))
    assert facts.source == "sosreport"
    assert _guests(target) == [("gone", False), (NAME, True)]
    running = next(each.domain for each in found if isinstance(each, LiveDomain)
                   and each.domain.name == NAME)  # fmt: skip
    assert (str(running.qemu_version), str(running.libvirt_version)) == ("4.2.1", "6.0.0")
    (nic,) = running.nics
    assert (nic.running and nic.running.vhost, nic.target_dev) == (True, "tap0")
    assert running.location.file == f"{target}/run/libvirt/qemu/{NAME}.xml"
    (config,) = (each for each in found if isinstance(each, NovaConfig))
    assert config.file == f"{target}/etc/nova/nova.conf"
    code, told = _audit(target)
    assert code in (0, 1)
    assert told["summary"]["domains"] == 2
    assert [each["status"] for each in told["targets"]] == ["ok"]


@pytest.mark.parametrize(
    ("state", "paused"), [("running", False), ("paused", True), ("pmsuspended", True)]
)
def test_a_guest_that_is_paused_is_known_to_stand_still(
    tmp_path: Path, state: str, *, paused: bool
) -> None:
    name = f"run/libvirt/qemu/{NAME}.xml"
    status = FILES[name].replace("'running'", f"'{state}'", 1)
    found = (each.domain for each in read(str(report(tmp_path / "sos", {name: status})))
             if isinstance(each, LiveDomain))  # fmt: skip
    told = {each.name: each.state for each in found}
    assert told[NAME] == DomainState(active=True, paused=paused, persistent=True)


def test_a_guest_of_which_there_is_no_status_runs_if_it_has_a_process(tmp_path: Path) -> None:
    target = report(tmp_path / "r")
    (target / f"run/libvirt/qemu/{NAME}.xml").unlink()
    assert _guests(target) == [("gone", False), (NAME, True)]
    (target / f"etc/libvirt/qemu/{NAME}.xml").unlink()
    assert _guests(target) == [("gone", False), (NAME, True)]
    for path in (target / "sos_commands/process").iterdir():
        path.write_text("PID COMMAND\n1 /sbin/init\n")
    assert _guests(target) == [("gone", False), (NAME, False)]


def test_two_guests_of_one_name_stay_apart(tmp_path: Path) -> None:
    other = FILES[f"etc/libvirt/qemu/{NAME}.xml"].replace("5a4b2ba3", "6a4b2ba3")
    target = report(tmp_path / "r", {"etc/libvirt/qemu/old.xml": other})
    assert _guests(target) == [("gone", False), (NAME, True), (NAME, False)]


def test_links_are_followed_inside_the_root_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "nova.conf").write_text("[libvirt]\nsecret = 1\n")
    links = {
        "etc/a": str(outside / "nova.conf"), "etc/b": "../../outside/nova.conf",
        "etc/c": "/version.txt", "etc/d": "/etc/e/hostname", "etc/e": "/sos_commands/host",
        "etc/up": "../../../../../../version.txt",
    }  # fmt: skip
    root = report(tmp_path / "r", links=links)
    for files in (FolderFiles(str(root)), ArchiveFiles(str(packed(root, tmp_path / "r.tgz")), [
        "etc/*", "version.txt", "sos_commands/host/hostname"])):  # fmt: skip
        tree = CopiedTree(files, "r")
        found = {name: tree.text(f"/{name}") for name in links if name != "etc/e"}
        version = FILES["version.txt"]
        assert found == {
            "etc/a": None, "etc/b": None, "etc/c": version, "etc/d": "compute4\n",
            "etc/up": version,
        }  # fmt: skip


WATCHED = """
import os, sys
from vnicaudit.cli.main import run
root, seen = sys.argv[1], []
def watch(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], str):
        seen.append(os.path.realpath(arguments[0]))
sys.addaudithook(watch)
run(["audit", root, "--format", "sarif"])
below = [path for path in seen if path.startswith(os.path.dirname(root) + "/")]
inside = [path for path in below if path == root or path.startswith(root + "/")]
print()
print("opened", len(inside), sorted(set(below) - set(inside)))
"""
"""What Python opens during an audit (PEP 578), links resolved."""


def test_nothing_outside_the_root_is_opened(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "qemu").mkdir(parents=True)
    (outside / "nova.conf").write_text("[libvirt]\ndisk_prefix = x\n")
    (outside / "qemu" / "x.xml").write_text(FILES[f"etc/libvirt/qemu/{NAME}.xml"])
    root = report(tmp_path / "root", links={
        **LINKS, "etc/nova/nova-compute.conf": str(outside / "nova.conf"),
        "etc/nova/nova.conf.d": str(outside), "var/run": str(outside),
        "run/libvirt/qemu/y.xml": "../../../../outside/qemu/x.xml",
        "sos_commands/networking/ip_-s_-d_link": str(outside / "nova.conf"),
    })  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(root.resolve())], capture_output=True, text=True,
        check=True, timeout=100,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1].split(" ", 2)
    assert int(last[1]) > 10, done.stdout + done.stderr
    assert (last[0], last[2]) == ("opened", "[]")


def test_outputs_are_found_by_the_names_of_their_files(tmp_path: Path) -> None:
    folder = "sos_commands/openvswitch"
    root = report(tmp_path / "r", {
        f"{folder}/openstack-hypervisor.ovs-vsctl_list": "a: 1\n",
        f"{folder}/ovs-appctl_show_br0": "x\n", f"{folder}/ovs-appctl_show_br-1": "y\n",
        "sos_commands/networking/ethtool_ens3": "Settings for ens3:\n",
    })  # fmt: skip
    readings = TreeReadings(CopiedTree(FolderFiles(str(root)), "r"), [FACT])
    wildcard = readings.output(FEATURES.name) or ""
    assert [line for line in wildcard.splitlines() if line.startswith("Features")] == [
        "Features for ens3:", "Features for lo:",
    ]  # fmt: skip
    assert set(readings.outputs(FEATURES.name)) == {"ens3", "lo"}
    assert readings.output(TABLE.name) == "a: 1\n"
    assert readings.output(SHOWN.name) is None
    assert readings.outputs(SHOWN.name) == {"br0": "x\n", "br-1": "y\n"}
    assert readings.outputs(PLAIN.name) == {"ens3": "Settings for ens3:\n"}
    assert (readings.output("uname"), readings.outputs("uname")) == (None, {})
    assert (readings.later(), readings.window) == (readings, None)


@pytest.mark.parametrize(
    "text",
    [
        "timeout: failed to run command \u2018dpdk-devbind.py\u2019: No such file or directory\n",
        "please specify an existing datapath\novs-appctl: ovs-vswitchd: server returned an error\n",
        "ovs-vsctl: unix:/run/openvswitch/db.sock: database connection failed (No such file)\n",
        "ethtool: unrecognized option '--phy-statistics'\n",
        'Object "vdpa" is unknown, try "ip help".\n',
        "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }\n",
        "bash: numastat: command not found\n",
    ],
)
def test_what_a_command_says_when_it_fails_is_no_output(text: str) -> None:
    assert is_failure(text)


@pytest.mark.parametrize("text", ["Features for lo:\n", "1: lo: <LOOPBACK,UP> mtu 65536\n", "{}\n"])
def test_what_it_prints_otherwise_is(text: str) -> None:
    assert not is_failure(text)


def test_a_host_that_is_no_hypervisor_is_told_in_one_line(tmp_path: Path) -> None:
    target = tmp_path / "r"
    (target / "sos_commands/host").mkdir(parents=True)
    (target / "sos_commands/host/hostnamectl_status").write_text(
        "   Static hostname: c1\n           Chassis: container\n    Virtualization: lxc\n"
    )
    assert [type(each) for each in read(str(target))] == [NotJudged]
    ran = vnicaudit("audit", target)
    assert ran.returncode == 0
    said = " ".join(ran.stdout.split())
    assert ("no hypervisor" in said, "VNIC" in said) == (True, False)
    (target / "etc/nova").mkdir(parents=True)
    (target / "etc/nova/nova.conf").write_text("[DEFAULT]\nlibvirt_vif_driver = x\n")
    assert [type(each) for each in read(str(target))] == [NotJudged, NovaConfig]


def test_nothing_is_offered_to_be_changed_in_a_copy(tmp_path: Path) -> None:
    conf = "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\nlibvirt_vif_driver = x\n"
    target = report(tmp_path / "r", {"etc/nova/nova.conf": conf})
    code, told = _audit(target)
    assert code == 1
    assert [finding["rule"] for finding in told["findings"]] == ["VNIC074"]
    assert not any(finding.get("change") for finding in told["findings"])
    planned = vnicaudit("plan", target)
    assert planned.returncode == 2
    assert "a copy of a host's files" in planned.stderr


@pytest.mark.parametrize("form", ["folder", "tar.xz"])
def test_rules_on_links_judge_them_with_their_guests(tmp_path: Path, form: str) -> None:
    target = report(tmp_path / "r", BRIDGED)
    if form != "folder":
        target = packed(target, tmp_path / f"r.{form}")
    code, told = _audit(target)
    assert code in (0, 1)
    found = [each for each in told["findings"] if each["about"]["kind"] == "link"]
    assert [(each["rule"], each["about"]["name"]) for each in found] == [("VNIC051", "ens3")]
    said = " ".join(vnicaudit("audit", target).stdout.split())
    assert NAME in said
    assert "VNIC115 was not judged for 3 links" in said


def test_reports_in_a_folder_are_targets_and_the_rest_is_read_as_files(tmp_path: Path) -> None:
    one = report(tmp_path / "sosreport-one")
    two = packed(one, tmp_path / "sosreport-two.tar.xz")
    (tmp_path / "sosreport-two.tar.xz.sha256").write_text("0\n")
    options = LiveOptions()
    assert reports_of(str(tmp_path), options) == [str(one), str(two)]
    web = FILES[f"etc/libvirt/qemu/{NAME}.xml"].replace("5a4b", "7a4b").replace("00:01", "00:07")
    (tmp_path / "web.xml").write_text(web)
    (tmp_path / "circle").symlink_to("circle")
    assert reports_of(str(tmp_path), options) == [str(tmp_path), str(one), str(two)]
    (tmp_path / "circle").unlink()
    code, told = _audit(tmp_path)
    assert code in (0, 1)
    assert [(each["target"], each["domains"]) for each in told["targets"]] == [
        (str(tmp_path), 1), (str(one), 2), (str(two), 2),
    ]  # fmt: skip


def test_reports_in_a_folder_for_each_case_are_found(tmp_path: Path) -> None:
    one = report(tmp_path / "case-1" / "sosreport-one")
    two = packed(one, tmp_path / "case-1" / "sosreport-two.tar.xz")
    three = report(tmp_path / "case-2" / "host" / "three")
    folder, options = str(tmp_path), LiveOptions()
    assert reports_of(folder, options) == [str(one), str(two), str(three)]
    (tmp_path / "case-2" / "host" / "notes").write_text("x\n")
    assert reports_of(folder, options) == [folder, str(one), str(two), str(three)]
    (tmp_path / "README").write_text("x\n")
    assert report_of(folder) is None


def test_what_waits_for_the_next_start_is_told(tmp_path: Path) -> None:
    defined = FILES[f"etc/libvirt/qemu/{NAME}.xml"].replace("type='virtio'", "type='e1000'")
    target = report(tmp_path / "r", {f"etc/libvirt/qemu/{NAME}.xml": defined})
    found = [each.domain for each in read(str(target)) if isinstance(each, LiveDomain)]
    (domain,) = (each for each in found if each.name == NAME)
    assert [each.fields for each in domain.pending.staged] == [(("model", "virtio", "e1000"),)]


def test_a_definition_that_virsh_printed_is_one_of_its_guest(tmp_path: Path) -> None:
    runs = FILES[f"run/libvirt/qemu/{NAME}.xml"]
    live = runs.partition(">")[2].removesuffix("</domstatus>")
    other = FILES[f"etc/libvirt/qemu/{NAME}.xml"].replace("5a4b2ba3", "6a4b2ba3")
    folder = "sos_commands/virsh/virsh_-r_dumpxml_"
    off = other.replace(NAME, "off")
    target = report(tmp_path / "r", {f"{folder}{NAME}": live, f"{folder}off": off})
    (target / f"run/libvirt/qemu/{NAME}.xml").unlink()
    assert _guests(target) == [("gone", False), (NAME, True), ("off", False)]


def test_the_nodes_of_a_must_gather_are_hosts(tmp_path: Path) -> None:
    sysinfo = tmp_path / "sysinfo"
    (sysinfo / "proc").mkdir(parents=True)
    (sysinfo / "proc/cmdline").write_text("isolcpus=1\n")
    (sysinfo / "machineinfo.json").write_text("{}")
    (sysinfo / "sys").mkdir()
    node = tmp_path / "must-gather/quay-io/nodes/worker1.internal"
    node.mkdir(parents=True)
    place = packed(sysinfo, node / "sysinfo.tgz", ".")
    (tmp_path / "must-gather/version").write_text("4.16\n")
    folder = str(tmp_path / "must-gather")
    assert reports_of(folder, LiveOptions()) == [folder, str(place)]
    (host,) = (each for each in read(str(place)) if isinstance(each, Host))
    assert host.name == "worker1.internal"
    assert report_of(str(sysinfo)) == str(sysinfo)


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "empty", "a.tar"])
def test_other_files_and_folders_stay_what_they_are(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = b"" if name == "empty" else b"[DEFAULT]\nx = 1\n" * 99
    path.write_bytes(gzip.compress(data) if name == "a.gz" else data)
    assert report_of(str(path)) is None
    assert report_of(str(tmp_path)) is None


def test_a_pipe_is_not_opened_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "sosreport-fifo")
    opened: list[object] = []
    monkeypatch.setattr(os, "open", lambda *arguments, **_more: opened.append(arguments))
    assert report_of(str(tmp_path / "sosreport-fifo")) is None
    assert report_of(str(tmp_path)) is None
    assert opened == []


# Archives that somebody made to do harm.


def _archive(path: Path, *members: tuple[tarfile.TarInfo, Any], form: int) -> Path:
    with tarfile.open(path, "w:gz", format=form) as packing:
        for info, data in members:
            packing.addfile(info, data)
    return path


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_that_are_no_files_of_the_report_are_passed_over(tmp_path: Path, form: int) -> None:
    first = "sos_commands/networking/ethtool_-k_ens3"
    long = "sos_commands/" + "a" * 150 + "/ethtool_-k_x"
    path = _archive(
        tmp_path / "r.tar.gz",
        member(f"r/{first}", b"mine\n"),
        member("/etc/passwd", b"x\n"), member("r/../etc/passwd", b"x\n"),
        member("r/etc/fifo", kind=tarfile.FIFOTYPE), member("r/etc/null", kind=tarfile.CHRTYPE),
        member("r/etc/out", kind=tarfile.SYMTYPE, link="../../../../etc/passwd"),
        member("r/etc/hard", kind=tarfile.LNKTYPE, link="/etc/passwd"),
        member("r/etc/same", kind=tarfile.LNKTYPE, link=f"r/{first}"),
        member(f"r/{long}", b"long\n"),
        form=form,
    )  # fmt: skip
    files = ArchiveFiles(str(path), ["etc/*", "sos_commands/*/ethtool_-k_*"])
    tree = CopiedTree(files, "r")
    assert sorted(files.entries("etc")) == ["out", "same"]
    found = [tree.text(f"/etc/{name}") for name in ("out", "hard", "same")]
    assert found == [None, None, "mine\n"]
    assert tree.text(f"/{long}") == "long\n"
    assert list(tree.matching("etc/passwd")) == []


def test_an_archive_that_is_cut_off_or_damaged_is_an_error(tmp_path: Path) -> None:
    whole = packed(report(tmp_path / "r"), tmp_path / "r.tar.xz").read_bytes()
    path = tmp_path / "cut.tar.xz"
    path.write_bytes(whole[:-200])
    with pytest.raises(TargetError, match="not a whole archive"):
        ArchiveFiles(str(path), [])
    path.write_bytes(whole[:20])
    assert not is_archive(str(path))
    plain = packed(tmp_path / "r", tmp_path / "r.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(plain[:700])
    with pytest.raises(TargetError, match="not a whole archive: it ends early"):
        ArchiveFiles(str(tmp_path / "cut.tar"), ["*/*/*"])


@pytest.mark.parametrize("seed", range(60))
def test_no_damage_stops_the_program(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(packed(report(tmp_path / "r"), tmp_path / "r.tar").read_bytes())
    for _ in range(1 + seed // 2):
        data[chance.randrange(len(data) // 2)] = chance.randrange(256)
    path = tmp_path / "damaged.tar"
    path.write_bytes(data)
    with suppress(TargetError):
        assert list(read(str(path)))


def test_a_size_of_thousands_of_digits_is_no_size(tmp_path: Path) -> None:
    long = member("r/proc/uptime", b"1.00 1\n")
    long[0].pax_headers = {"size": "9" * 5000}
    root = member("r/sos_commands", kind=tarfile.DIRTYPE)
    path = _archive(tmp_path / "r.tar.gz", root, long, form=tarfile.PAX_FORMAT)
    assert ArchiveFiles(str(path), ["proc/uptime"]).content("proc/uptime", 99) == b"1.00 1\n"


def test_an_archive_without_a_host_is_told(tmp_path: Path) -> None:
    path = _archive(
        tmp_path / "a.tar.gz", member("a/web.xml", b"<domain/>"), form=tarfile.GNU_FORMAT
    )
    with pytest.raises(TargetError, match="without a sosreport"):
        list(read(str(path)))
    ran = vnicaudit("audit", path)
    assert (ran.returncode, "without a sosreport" in " ".join(ran.stdout.split())) == (4, True)


def _packed_header(kind: bytes, size: int) -> bytes:
    info = tarfile.TarInfo("r/sos_commands/x")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (_packed_header(tarfile.GNUTYPE_LONGNAME, 1 << 30), "header that is too large"),
        (_packed_header(tarfile.XHDTYPE, 1 << 30), "header that is too large"),
        (_packed_header(tarfile.REGTYPE, 1 << 40), "too much of it"),
        (_packed_header(tarfile.DIRTYPE, 0) + b"x" * 512, "not a tar archive"),
    ],
)
def test_headers_cannot_ask_for_memory(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "r.tar"
    path.write_bytes(data)
    with pytest.raises(TargetError, match=says):
        ArchiveFiles(str(path), ["sos_commands/*"])


def test_an_archive_that_unpacks_without_bounds_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_FREE", 1 << 20)
    header = _packed_header(tarfile.REGTYPE, 64 << 20).replace(b"sos_commands/x", b"var/log/lastlo")
    path = tmp_path / "r.tar.gz"
    path.write_bytes(gzip.compress(header + b"\0" * (64 << 20)))
    with pytest.raises(TargetError, match="far more than a report"):
        ArchiveFiles(str(path), ["sos_commands/*"])


def test_xz_cannot_ask_for_memory(tmp_path: Path) -> None:
    """An archive of 4 MB that asked for a dictionary of 1.2 GiB took all of it."""
    data = lzma.compress(_packed_header(tarfile.REGTYPE, 0) + b"\0" * 1024)
    end = 12 + (data[12] + 1) * 4  # of the first block's header: its length, in words, comes first
    header = data[12:16] + b"\x25" + data[17 : end - 4]  # 1.5 GiB (xz-file-format 1.2, 5.3.1)
    path = tmp_path / "sosreport-r.tar.xz"
    path.write_bytes(data[:12] + header + zlib.crc32(header).to_bytes(4, "little") + data[end:])
    assert is_archive(str(path))
    with pytest.raises(TargetError, match="takes too much memory to unpack: unpack it, and name"):
        ArchiveFiles(str(path), ["sos_commands/*"])


def test_an_archive_in_several_parts_is_read_whole(tmp_path: Path) -> None:
    whole = packed(report(tmp_path / "r"), tmp_path / "r.tar").read_bytes()
    path = tmp_path / "r.tar.xz"
    path.write_bytes(lzma.compress(whole[:1000]) + b"\0" * 8 + lzma.compress(whole[1000:]))
    assert ArchiveFiles(str(path), ["version.txt"]).content("version.txt", 99) == b"sosreport: 4.2"


def test_too_many_names_end_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MOST_NAMES", 100)
    members = [member(f"r/{number}", kind=tarfile.DIRTYPE) for number in range(200)]
    path = _archive(tmp_path / "r.tar.gz", *members, form=tarfile.GNU_FORMAT)
    with pytest.raises(TargetError, match="too much of it"):
        ArchiveFiles(str(path), ["sos_commands/*"])


def test_long_names_and_links_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = [member("r/" + "a/" * 2000, kind=tarfile.DIRTYPE), member("r/sos_commands/x", b"x\n")]
    path = _archive(tmp_path / "deep.tar.gz", *deep, form=tarfile.GNU_FORMAT)
    assert ArchiveFiles(str(path), ["sos_commands/*"]).content("sos_commands/x", 9) == b"x\n"
    monkeypatch.setattr(archive, "_MOST_KEPT", 1 << 20)
    links = [member(f"r/{n}", kind=tarfile.SYMTYPE, link="x" * 60_000) for n in range(20)]
    path = _archive(tmp_path / "links.tar.gz", *links, form=tarfile.GNU_FORMAT)
    with pytest.raises(TargetError, match="too much of it"):
        ArchiveFiles(str(path), ["sos_commands/*"])


def test_a_sparse_member_is_passed_over(tmp_path: Path) -> None:
    block = bytearray(_packed_header(b"S", 512))
    block[482] = 1
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:]) + 8 * 32)
    more = b"\0" * 504 + b"\1" + b"\0" * 7 + b"\0" * 512
    wanted, data = member("r/sos_commands/y", b"y\n")
    path = tmp_path / "r.tar"
    path.write_bytes(
        bytes(block) + more + b"\0" * 512 + wanted.tobuf(tarfile.GNU_FORMAT)
        + data.getvalue().ljust(512, b"\0") + b"\0" * 1024
    )  # fmt: skip
    assert (
        CopiedTree(ArchiveFiles(str(path), ["sos_commands/*"]), "r").text("sos_commands/y") == "y\n"
    )
