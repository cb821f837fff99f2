"""NICs of a run that share a MAC address."""

import datetime
import tracemalloc
from pathlib import Path

import pytest
from msgspec.structs import replace

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging import macs
from vnicaudit.audit.judging.catalogue import LoadedRule, RuleSet
from vnicaudit.audit.judging.judgement import fingerprint_of, identity_parts
from vnicaudit.audit.judging.macs import MacTable, encoded, nics_seen
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainState, Server
from vnicaudit.model.finding import OPENSTACK, DescriptionKind, Finding
from vnicaudit.model.openstack import CloudServer, ServerConfig
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import MacSubject, NicSeen
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.kubevirt.cluster import ClusterReading
from vnicaudit.platforms.kubevirt.objects import decoded_object

MAC = "52:54:00:aa:bb:01"


def text(number: int, mac: str = MAC, more: str = "", attributes: str = "") -> str:
    return (
        f"<domain type='kvm'{attributes}><name>guest{number}</name>"
        f"<uuid>00000000-0000-0000-0000-{number:012}</uuid>{more}<devices>"
        f"<interface type='bridge'><mac address='{mac}'/><source bridge='br0'/>"
        f"<model type='virtio'/></interface></devices></domain>"
    )


def domain(number: int, mac: str = MAC) -> Domain:
    (found,) = read_bytes(text(number, mac).encode(), target="t", file=f"{number}.xml")
    return found


def run(folder: Path, *names: str, jobs: int = 1) -> tuple[list[Finding], AuditRun]:
    rules = ("VNIC016",)
    work = AuditWork(
        rules, Assumptions(), Suppressor((), datetime.date(2026, 1, 1), rules), {}, every_platform()
    )
    made = AuditRun(work, RunOptions(jobs=jobs))
    targets = [str(folder / name) for name in names] or [str(folder)]
    items = [item for item in made.items(targets) if isinstance(item, Audited)]
    return [finding for item in items for finding in item.findings], made


def test_of_a_server_only_its_own_nics_are_compared() -> None:
    """Neutron keeps addresses apart, but only on one network."""
    table = MacTable()
    for number in (1, 2):
        one = domain(number)
        nics = (one.nics[0], replace(one.nics[0], index=1)) if number == 1 else one.nics
        declared = replace(
            one.declared, described_by=ServerConfig(), platform=OPENSTACK, owner="nova"
        )
        uuid = one.uuid or ""
        server = Server(
            one.name, declared, one.location, nics, uuid=uuid, cloud=CloudServer(uuid, one.name)
        )
        table.take(encoded(nics_seen(server, "openstack:a")))
    found = [(one.nic.domain, one.nic.index, len(one.other_nics)) for one in table.subjects()]
    assert found == [("guest1", 0, 1), ("guest1", 1, 1)]


@pytest.mark.parametrize(
    ("name", "shared"), [("", 0), ("<name> </name>", 0), ("<name>(no name)</name>", 2)]
)
def test_a_guest_that_is_called_no_name_has_one(name: str, shared: int) -> None:
    """A guest without name and UUID may be any other that was read."""
    table = MacTable()
    for number, called in enumerate((name, "<name>other</name>")):
        text = (
            f"<domain type='kvm'>{called}<devices><interface type='bridge'><mac address='{MAC}'/>"
            "<source bridge='br0'/></interface></devices></domain>"
        )
        (found,) = read_bytes(text.encode(), target="t", file=f"{number}.xml")
        table.take(encoded(nics_seen(found, "t")))
    assert len(list(table.subjects())) == shared


def live(nic: NicSeen, **changes: object) -> NicSeen:
    return replace(nic, **{"host": "qemu:///system", "active": True, **changes})


def test_the_order_of_workers_changes_nothing(tmp_path: Path) -> None:
    """And every file of many is compared, whichever worker reads it."""
    for number in range(300):
        mac = MAC if number in (3, 299) else f"52:54:01:00:{number >> 8:02x}:{number & 255:02x}"
        (tmp_path / f"{number:03}.xml").write_text(text(number, mac))
    alone, _ = run(tmp_path, jobs=1)
    shared, _ = run(tmp_path, jobs=2)
    assert [finding.about.name for finding in alone] == ["guest3", "guest299"]
    assert alone == shared


def test_a_finding_names_the_other_and_keeps_its_fingerprint(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.xml").write_text(text(number))
    before, _ = run(tmp_path)
    assert "NIC 0 of guest2" in before[0].message
    assert [place.file for place in before[0].related] == [str(tmp_path / "2.xml")]
    (tmp_path / "0.xml").write_text(text(7))
    after, _ = run(tmp_path)
    assert {f.fingerprint for f in before} < {f.fingerprint for f in after}
    assert len({f.fingerprint for f in after}) == len(after) == 3


def test_a_file_and_a_folder_that_has_it_are_one_guest(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    for place in ("1.xml", "backups/1.xml", "backups/1.old.xml"):
        (tmp_path / place).write_text(text(1))
    found, _ = run(tmp_path, "1.xml", "")
    assert found == []


def test_one_guest_alone_cannot_accept_what_it_shares(tmp_path: Path) -> None:
    entry = (
        "<metadata><v:suppress xmlns:v='https://vnicaudit.org/xmlns/1' rule='VNIC016' "
        "reason='a lab'/></metadata>"
    )
    (tmp_path / "1.xml").write_text(text(1, more=entry))
    (tmp_path / "2.xml").write_text(text(2))
    found, made = run(tmp_path)
    rules = [(finding.rule, finding.about.name) for finding in found]
    assert rules == [("SUPP003", "guest1"), ("VNIC016", "guest1"), ("VNIC016", "guest2")]
    assert "accept it in vnicaudit.toml" in found[0].message
    assert made.summary.suppressed == 0


def test_how_sure_it_is_depends_on_where_they_run() -> None:
    one, other = (nics_seen(domain(number), "t")[0] for number in (1, 2))

    def graded(first: NicSeen, second: NicSeen) -> tuple[str, str]:
        table = MacTable()
        table.take(encoded([first, second]))
        subject = next(table.subjects())
        (finding,) = macs.MacAuditor(["VNIC016"], every_platform().wordings).audit(subject).findings
        return finding.severity, finding.confidence

    assert graded(live(one), live(other)) == ("high", "high")
    assert graded(live(one), live(other, active=False)) == ("medium", "medium")
    assert graded(live(one), live(other, network="bridge:br1")) == ("low", "low")
    assert graded(live(one), live(other, host="qemu+ssh://b/system")) == ("low", "low")
    assert graded(one, other) == ("medium", "medium")


def test_one_uuid_on_two_hosts_is_told() -> None:
    """By the names that libvirt gives the hosts: two targets may be one host."""

    def told(first: NicSeen, second: NicSeen) -> list[tuple[str, str, str, str]]:
        table = MacTable()
        table.take(encoded([first, second]))
        auditor = macs.MacAuditor(["VNIC016"], every_platform().wordings)
        found = [one for each in table.subjects() for one in auditor.audit(each).findings]
        return [(one.severity, one.confidence, one.message, one.fix) for one in found]

    def seen(target: str, machine: str, *, active: bool = True) -> NicSeen:
        (nic,) = nics_seen(domain(1), target, machine)
        return live(replace(nic, target=target, reading=target), host=target, active=active)

    here, there = seen("qemu+ssh://a/system", "a"), seen("qemu+ssh://b/system", "b")
    both, _other = told(here, there)
    assert both[:3] == (
        "low", "medium",
        f"{MAC} is the MAC address of NIC 0 of guest1 (qemu+ssh://b/system) too: one guest, by its "
        "UUID, is running on two hosts, unless it is migrating now",
    )  # fmt: skip
    assert both[3].startswith("Undefine the guest on the host where it is not meant to run")
    left = told(here, seen("qemu+ssh://b/system", "b", active=False))
    assert [one[:2] for one in left] == [("info", "high")] * 2
    assert "is defined on two hosts" in left[0][2]
    assert told(here, seen("qemu+ssh://a.example.org/system", "a")) == []
    assert told(here, seen("/srv/a.xml", "")) == []


def test_nova_s_own_may_have_one_address_on_two_networks() -> None:
    table = MacTable()
    for number in (1, 2):
        found = domain(number)
        declared = replace(found.declared, owner="nova")
        table.take(encoded(nics_seen(replace(found, declared=declared), "t")))
    assert list(table.subjects()) == []


def test_a_live_guest_is_known_to_run() -> None:
    (found,) = read_bytes(text(1, attributes=" id='4'").encode(), target="t", file="1.xml")
    assert nics_seen(found, "t")[0].active is True
    off = found.with_state(DomainState(active=False))
    assert nics_seen(off, "t")[0].active is False


def test_the_number_is_bounded_and_what_is_left_out_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(macs, "MAX_NICS", 2)
    for number in range(4):
        (tmp_path / f"{number}.xml").write_text(text(number, f"52:54:00:00:00:0{number}"))
    _, made = run(tmp_path)
    assert made.results[0].notes == (
        "2 NICs were not compared with the others by their MAC address: too many",
    )


def test_a_nic_of_a_fleet_costs_little() -> None:
    """Of what is kept until the end, by far the most are NICs that share nothing."""
    number = 5000
    nics = [
        nics_seen(domain(n, f"52:54:02:00:{n >> 8:02x}:{n & 255:02x}"), "t")[0]
        for n in range(number)
    ]
    tracemalloc.start()
    table = MacTable()
    table.take(encoded(nics))
    size, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 700 * number
    assert list(table.subjects()) == []


def test_nics_that_share_an_address_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is one of NICs, not of addresses."""
    monkeypatch.setattr(macs, "MAX_NICS", 5)
    table = MacTable()
    for address in range(4):
        for guest in range(3):
            table.take(
                encoded(nics_seen(domain(10 * address + guest, f"52:54:00:00:00:0{address}"), "t"))
            )
    kept = [subject.nic.domain for subject in table.subjects()]
    assert kept == ["guest0", "guest1", "guest2", "guest10", "guest11"]
    assert table.left_out == 7


def test_a_guest_read_again_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macs, "MAX_NICS", 2)
    table = MacTable()
    for guest in (1, 2, 1, 2, 1):
        table.take(encoded(nics_seen(domain(guest), "t")))
    assert [subject.nic.domain for subject in table.subjects()] == ["guest1", "guest2"]
    assert table.left_out == 0


@pytest.mark.parametrize("rule", ["VNIC016", "VNIC999"])
def test_each_rule_has_fingerprints_of_its_own(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """Those of one rule were made for any that would compare NICs."""

    class Rules(RuleSet[MacSubject]):
        def of(self, form: DescriptionKind = "definition") -> tuple[LoadedRule[MacSubject], ...]:
            return tuple(replace(one, id=rule) for one in super().of(form))

    monkeypatch.setattr("vnicaudit.audit.judging.judgement.RuleSet", Rules)
    table, domains = MacTable(), [domain(number) for number in (1, 2)]
    for one in domains:
        table.take(encoded(nics_seen(one, "t")))
    auditor = macs.MacAuditor(["VNIC016"], every_platform().wordings)
    found = [finding for nic in table.subjects() for finding in auditor.audit(nic).findings]
    assert [one.fingerprint for one in found] == [
        fingerprint_of(rule, *identity_parts(one, one.nics[0])) for one in domains
    ]


def _in_cluster(context: str, name: str) -> NicSeen:
    """The NIC of a VM, as it is read live: without a file."""
    spec = {
        "domain": {"devices": {"interfaces": [{"name": "a", "bridge": {}, "macAddress": MAC}]}},
        "networks": [{"name": "a", "multus": {"networkName": "lan"}}],
    }
    vm = {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "demo", "uid": f"{context}-{name}"},
        "spec": {"template": {"spec": spec}},
    }  # fmt: skip
    target = f"kube:{context}"
    found = ClusterReading(target, context).domain(decoded_object(vm, target))
    assert found is not None
    (nic,) = nics_seen(found, target)
    return nic


@pytest.mark.parametrize(("context", "meet"), [("prod", True), ("lab", False)])
def test_networks_of_one_name_in_two_clusters_are_two(context: str, *, meet: bool) -> None:
    table = MacTable()
    table.take(encoded([_in_cluster("prod", "one"), _in_cluster(context, "two")]))
    assert bool(list(table.subjects())) is meet
