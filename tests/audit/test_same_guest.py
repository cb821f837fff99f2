"""Guests that are read several times: counted once, and fixed where they are defined."""

import datetime
import json
from pathlib import Path

import pytest

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.finding import Finding
from vnicaudit.model.report import Audited
from vnicaudit.reports.totals import Tally

MAC = "52:54:00:aa:bb:01"
UUID = "00000000-0000-0000-0000-000000000001"
XML = (
    f"<domain type='kvm'><name>guest1</name><uuid>{UUID}</uuid><devices><interface type='bridge'>"
    f"<mac address='{MAC}'/><source bridge='br0'/><model type='rtl8139'/></interface></devices>"
    "</domain>"
)
QUICK = XML.replace("<model type='rtl8139'/>", "<model type='virtio'/><driver name='qemu'/>")
DUMP = XML.replace("<domain ", "<domain id='3' ")
COMMAND = (
    f"/usr/bin/qemu-system-x86_64 -name guest=guest1,debug-threads=on -uuid {UUID} "
    "-accel kvm -nodefaults -netdev tap,fd=30,id=hostnet0 -device {},netdev=hostnet0,mac={}\n"
)
PS = f"root 1 0 0 1 1 ? Sl 10:00 0:10 {COMMAND}"
MACHINE = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: web, namespace: lab}}
spec:
  template:
    spec:
      domain:
        devices:
          interfaces: [{{name: red, bridge: {{}}, model: e1000, macAddress: "{}"}}]
      networks: [{{name: red, multus: {{networkName: br1}}}}]
"""


def run(folder: Path, **files: str) -> tuple[list[Finding], AuditRun, list[Audited]]:
    for name, text in files.items():
        (folder / name).write_text(text)
    rules = rule_ids()
    work = AuditWork(
        rules, Assumptions(), Suppressor((), datetime.date(2026, 1, 1), rules), {}, every_platform()
    )
    made = AuditRun(work, RunOptions(jobs=1))
    audited = [one for one in made.items([str(folder)]) if isinstance(one, Audited)]
    return [found for one in audited for found in one.findings], made, audited


@pytest.mark.parametrize(
    ("other", "is_one"),
    [
        (XML.replace("<devices>", "<title>a copy</title><devices>"), True),
        (XML.replace("guest1", "renamed"), True),
        (XML.replace(f"<uuid>{UUID}</uuid>", ""), True),
        (XML.replace("000000000001<", "000000000002<"), False),
        (XML.replace("<name>guest1</name>", "").replace(f"<uuid>{UUID}</uuid>", ""), False),
        (XML.replace(MAC, "52:54:00:aa:bb:02"), False),
    ],
    ids=["copy", "same UUID", "same name and MAC", "another UUID", "no name", "another MAC"],
)
def test_a_guest_that_was_read_twice_is_one(other: str, is_one: bool, tmp_path: Path) -> None:
    _findings, made, _audited = run(tmp_path, a=XML, b=other)
    told = f"guest1 is one guest, read 2 times ({tmp_path}/a:1, {tmp_path}/b:1)"
    assert made.results[0].notes == ((told,) if is_one else ())
    summary = made.summary
    assert (summary.domains, summary.nics, summary.read_again) == (
        (1, 1, 1) if is_one else (2, 2, 0)
    )


@pytest.mark.parametrize(
    ("model", "more", "paths"),
    [
        ("virtio-net-pci", "", {"slow": 1}),
        ("virtio-net-pci", ",vhost=on", {"fast": 1}),
        ("rtl8139", "", {"slow": 1}),
    ],
)
def test_a_nic_is_counted_once_and_slow_if_a_reading_says_so(
    tmp_path: Path, model: str, more: str, paths: dict[str, int]
) -> None:
    running = PS.format(model, MAC).replace("tap,fd=30", f"tap,fd=30{more}")
    definition = QUICK.replace("<driver name='qemu'/>", "")
    _found, made, audited = run(tmp_path, **{"a.txt": running, "b.xml": definition})
    tally = Tally()
    for one in audited:
        tally.add(one)
    assert +tally.paths == paths
    assert tally.paths.total() == made.summary.nics == 1


def test_what_runs_is_told_once_and_fixed_where_it_is_defined(tmp_path: Path) -> None:
    running = PS.format("rtl8139", MAC)
    found, made, audited = run(tmp_path, **{"a.xml": DUMP, "b.txt": running, "c.xml": XML})
    (note,) = made.results[0].notes
    assert note.endswith(f"; its definition is {tmp_path}/c.xml: change it there")
    changed = [one.location.file for one in found if one.rule == "VNIC001"]
    assert changed == [f"{tmp_path}/c.xml"]
    assert [one.location.file for one in found if one.change] == changed
    assert [one.again for one in audited] == [False, True, True]
    assert made.summary.findings == len(found)
    assert max(made.summary.skipped.values()) == 1


def test_what_only_the_running_guest_shows_is_kept(tmp_path: Path) -> None:
    """It runs without vhost, and the definition says why; another shows an emulated model that the
    definition has no more."""
    without, changed = PS.format("virtio-net-pci", MAC), PS.format("rtl8139", MAC)
    found, _made, _audited = run(tmp_path, **{"a.txt": without, "b.xml": QUICK})
    (fix,) = [one.fix for one in found if one.rule == "VNIC020"]
    first = f"First see {tmp_path}/b.xml:1, the definition of this guest: VNIC021 there. "
    assert fix.startswith(first)
    sound = QUICK.replace("<driver name='qemu'/>", "")
    found, made, _audited = run(tmp_path, **{"a.txt": changed, "b.xml": sound})
    assert made.summary.domains == 1
    (emulated,) = [one for one in found if one.rule == "VNIC001"]
    assert (emulated.change, emulated.fixes) == (None, ())
    see = f"See {tmp_path}/b.xml:1, the definition of this guest. Power the guest off and on; "
    assert emulated.fix.startswith(see)
    assert [place.file for place in emulated.related] == [f"{tmp_path}/b.xml"]
    (pending,) = [one for one in found if one.rule == "VNIC013"]
    assert (pending.severity, pending.location.file) == ("medium", f"{tmp_path}/a.txt")
    assert pending.message == "pending change, not active yet: model rtl8139 -> virtio"


LOG = f"""2026-03-02 10:00:00.100+0000: starting up libvirt version: 10.0.0, qemu version: 8.2.0
LC_ALL=C \\
{COMMAND.format("e1000", MAC).strip()}
"""
ENDED = "2026-03-02 10:00:01.100+0000: shutting down, reason=shutdown\n"


@pytest.mark.parametrize(
    ("running", "definition", "is_pending"),
    [
        (LOG, QUICK, True),
        (DUMP, QUICK, True),
        (DUMP, XML.replace("rtl8139", "e1000"), True),
        (LOG + ENDED, QUICK, False),
        (DUMP, XML, False),
        (DUMP, XML.replace("<model type='rtl8139'/>", ""), False),
        (PS.format("virtio-net-pci-non-transitional", MAC), QUICK, False),
        (DUMP, XML.replace("rtl8139'/>", "virtio'/>").replace(MAC, f"{MAC[:-1]}2"), False),
    ],
    ids=["log", "dump", "two emulated", "ended", "equal", "default", "both virtio", "another MAC"],
)
def test_a_running_model_that_its_definition_has_no_more_is_pending(
    running: str, definition: str, is_pending: bool, tmp_path: Path
) -> None:
    found, _made, _audited = run(tmp_path, **{"b.xml": definition, "a.log": running})
    pending = [one.location.file for one in found if one.rule == "VNIC013"]
    assert pending == [f"{tmp_path}/a.log"] * is_pending


def test_two_definitions_leave_open_which_one_is_pending(tmp_path: Path) -> None:
    found, _made, _audited = run(tmp_path, **{"a.xml": DUMP, "b.xml": QUICK, "c.xml": QUICK})
    assert "VNIC013" not in [one.rule for one in found]


def test_what_another_reading_shows_is_not_of_the_definition(tmp_path: Path) -> None:
    sound = QUICK.replace("<driver name='qemu'/>", "")
    ps, log = PS.format("rtl8139", MAC), f"LC_ALL=C {COMMAND.format('e1000', MAC)}"
    other = sound.replace("model type='virtio'", "model type='igb'")
    found, _made, _audited = run(tmp_path, **{"a.txt": ps, "b.log": log, "c.xml": other})
    fixes = [one.fix for one in found if one.rule in ("VNIC001", "VNIC002")]
    assert len(fixes) == 2
    assert all("is the definition of this guest: change it there, or" in fix for fix in fixes)


def test_what_several_readings_of_one_qemu_show_is_told_once(tmp_path: Path) -> None:
    """As in the folder of a sosreport, with the definition of the next start."""
    files = {
        "dump": DUMP.replace("rtl8139", "e1000"),
        "etc.xml": QUICK,
        "guest1.log": f"LC_ALL=C {COMMAND.format('e1000', MAC)}",
        "ps": PS.format("e1000", MAC),
    }
    found, made, _audited = run(tmp_path, **files)
    shown = [(one.rule, one.location.file) for one in found if one.rule in ("VNIC002", "VNIC021")]
    assert shown == [("VNIC021", f"{tmp_path}/etc.xml"), ("VNIC002", f"{tmp_path}/dump")]
    assert (made.summary.domains, made.summary.nics, made.summary.read_again) == (1, 1, 3)


def test_advice_that_changes_no_definition_stays(tmp_path: Path) -> None:
    sound = QUICK.replace("<driver name='qemu'/>", "")
    files = {"a.txt": PS.format("virtio-net-pci", MAC), "b.xml": sound}
    found, _made, _audited = run(tmp_path, **files)
    (fix,) = [one.fix for one in found if one.rule == "VNIC020"]
    assert "/dev/vhost-net" in fix


def test_of_two_definitions_each_keeps_its_fix(tmp_path: Path) -> None:
    found, made, _audited = run(tmp_path, **{"a.xml": XML, "b.xml": XML})
    assert sum(one.change is not None for one in found if one.rule == "VNIC001") == 2
    assert made.summary.domains == 1


def test_a_machine_of_kubevirt_and_its_libvirt_domain_are_one_guest(tmp_path: Path) -> None:
    """libvirt's domain in the pod is named NAMESPACE_NAME, and has a UUID."""
    command = COMMAND.format("e1000", MAC).replace("guest=guest1", "guest=lab_web")
    command = command.replace("-nodefaults", "-nodefaults -smbios type=1,product=KubeVirt")
    log = f"LC_ALL=C {command}".replace("/usr/bin", "/usr/libexec")
    found, made, _audited = run(tmp_path, **{"a.log": log, "b.yaml": MACHINE.format(MAC)})
    assert made.summary.domains == 1
    assert [one.location.file for one in found if one.change] == [f"{tmp_path}/b.yaml"]


SNAPSHOT = f"<domainsnapshot><name>s1</name>{XML}</domainsnapshot>"
NOVA = XML.replace(
    "<devices>",
    "<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>"
    "<devices>",
)
SOUND = QUICK.replace("<driver name='qemu'/>", "")


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ({"a.xml": DUMP, "b.xml": DUMP}, ["a.xml", "b.xml"]),
        ({"a.txt": PS.format("rtl8139", MAC), "b.xml": SOUND, "c.xml": XML}, ["c.xml", "a.txt"]),
        ({"a.xml": DUMP, "b.xml": SNAPSHOT}, ["b.xml", "a.xml"]),
        ({"a.xml": DUMP, "b.xml": XML}, ["b.xml"]),
    ],
    ids=["two dumps", "two definitions", "a snapshot", "one definition"],
)
def test_only_what_the_one_definition_shows_is_not_told_again(
    tmp_path: Path, files: dict[str, str], shown: list[str]
) -> None:
    """Two dumps may be of two hosts, and of two definitions or a snapshot nobody knows by which the
    guest runs."""
    found, made, _audited = run(tmp_path, **files)
    places = [one.location.file for one in found if one.rule == "VNIC001"]
    assert places == [f"{tmp_path}/{name}" for name in shown]
    assert made.summary.domains == 1


def test_what_the_definition_shows_more_mildly_is_told(tmp_path: Path) -> None:
    """Its link is down there, and up in the running guest."""
    down = QUICK.replace("</interface>", "<link state='down'/></interface>")
    up = QUICK.replace("<domain ", "<domain id='3' ")
    found, _made, _audited = run(tmp_path, **{"a.xml": up, "b.xml": down})
    severities = [one.severity for one in found if one.rule == "VNIC021"]
    assert severities == ["low", "medium"]


def test_what_is_accepted_in_the_definition_is_told_of_what_runs(tmp_path: Path) -> None:
    accepted = XML.replace(
        "<devices>",
        "<metadata><v:all xmlns:v='https://vnicaudit.org/xmlns/1'>"
        "<v:suppress rule='VNIC001' reason='why'/></v:all>"
        "</metadata><devices>",
    )
    found, _made, audited = run(tmp_path, **{"a.xml": DUMP, "b.xml": accepted})
    assert sum(len(one.suppressed) for one in audited) > 0
    assert [one.location.file for one in found if one.rule == "VNIC001"] == [f"{tmp_path}/a.xml"]


def test_a_definition_that_its_owner_rewrites_is_no_place_of_a_change(tmp_path: Path) -> None:
    live = NOVA.replace("<domain ", "<domain id='3' ")
    quick = NOVA.replace("rtl8139", "virtio")
    found, made, _audited = run(tmp_path, **{"a.xml": live, "b.xml": quick})
    (fix,) = [one.fix for one in found if one.rule == "VNIC001"]
    assert "is the definition of this guest" not in fix
    assert "hw_vif_model" in fix
    assert all("change it there" not in note for note in made.results[0].notes)


def test_a_nic_that_was_plugged_in_is_not_in_the_definition(tmp_path: Path) -> None:
    plugged = DUMP.replace(
        "</devices>",
        "<interface type='bridge'><mac address='52:54:00:aa:bb:02'/><source bridge='br0'/>"
        "<model type='e1000'/></interface></devices>",
    )
    found, _made, _audited = run(tmp_path, **{"a.xml": plugged, "b.xml": SOUND})
    (fix,) = [one.fix for one in found if one.rule == "VNIC002"]
    assert "is the definition of this guest" not in fix


def _replicas() -> str:
    """A replica set and two of its instances, with what its template has; one of them runs with
    fewer queues than vCPUs."""
    spec = {
        "domain": {
            "cpu": {"cores": 4},
            "devices": {
                "networkInterfaceMultiqueue": True,
                "interfaces": [
                    {"name": "red", "bridge": {}, "model": "e1000"},
                    {"name": "default", "masquerade": {}},
                ],
            },
        },
        "networks": [
            {"name": "red", "multus": {"networkName": "br1"}}, {"name": "default", "pod": {}},
        ],
    }  # fmt: skip
    kind = "VirtualMachineInstanceReplicaSet"
    maker = {"kind": kind, "name": "web", "uid": "r", "controller": True}
    made = [
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": {
                "name": name, "namespace": "lab", "uid": name, "ownerReferences": [maker],
            },
            "spec": spec,
            "status": {
                "phase": "Running", "interfaces": [{"name": "default", "queueCount": queues}],
            },
        }
        for name, queues in (("web-one", 4), ("web-two", 2), ("web-three", 2))
    ]  # fmt: skip
    own = {
        "apiVersion": "kubevirt.io/v1", "kind": kind,
        "metadata": {"name": "web", "namespace": "lab", "uid": "r"},
        "spec": {"template": {"spec": spec}},
    }  # fmt: skip
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [own, *made]})


def test_what_a_template_causes_is_told_once_and_what_an_instance_has_of_each(
    tmp_path: Path,
) -> None:
    found, made, audited = run(tmp_path, **{"vms.json": _replicas()})
    assert [(one.rule, one.about.name) for one in found] == [
        ("VNIC071", "lab/web"), ("VNIC204", "lab/web-two"), ("VNIC204", "lab/web-three"),
    ]  # fmt: skip
    assert [one.notes for one in made.results] == [
        ("3 findings on guests of a replica set or a pool repeated what was told of another one: "
         "not shown",)
    ]  # fmt: skip
    assert [one.paths[0] for one in audited] == ["slow"] * 4
