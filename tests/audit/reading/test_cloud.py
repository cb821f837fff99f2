"""A cloud in a run: what is read when, what is joined with what, and that nothing is said twice."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.audit.clouds import (
    MAC,
    TARGET,
    UUID,
    FakeCloud,
    audit_work,
    findings,
    flavor,
    image,
    port,
    run_of,
    server,
)
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.servers import with_server
from vnicaudit.audit.reading.targets import unique_targets
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, NicsWork
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import MissingExtraError, TargetError
from vnicaudit.model.domain import Domain, DomainConfig, DomainState, LiveFacts
from vnicaudit.model.finding import Location
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import PortBinding
from vnicaudit.model.report import Audited, ReadError

URI = "qemu+ssh://cmp1/system"
LEGACY = port("rtl8139")
XML = """<domain type='kvm'>{uuid}<name>instance-00000001</name>
<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>
<vcpu>1</vcpu><os><type arch='x86_64' machine='pc'>hvm</type></os><devices>
<interface type='bridge'><mac address='{mac}'/><source bridge='br-int'/><model type='rtl8139'/>
</interface></devices></domain>"""


@pytest.fixture
def cloud() -> FakeCloud:
    return FakeCloud()


@pytest.fixture
def live(cloud: FakeCloud) -> dict[str, list[Domain | ReadError]]:
    """What each libvirt host has; tests fill it in."""
    return cloud.hosts


def guest(number: int, *nics: tuple[str, str], uuid: str | None = None) -> Domain:
    """The domain that Nova made of a server: its NICs by MAC and model."""
    here = Location(URI)
    declared = DomainConfig(
        type="kvm", arch="x86_64", vcpus=1, owner="nova", described_by="live", nics=len(nics)
    )
    found = (
        Nic(index, NicConfig(type="bridge", actual_type="bridge", model=model), here, mac)
        for index, (mac, model) in enumerate(nics)
    )
    return Domain(
        f"instance-{number:08x}", declared, here, tuple(found), uuid or UUID.format(number),
        live=LiveFacts(DomainState(active=True, persistent=True)),
    )  # fmt: skip


class TestAlone:
    def test_servers_are_domains_and_are_judged(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY, port()), server(2)]
        run = run_of(cloud.work("VNIC001"))
        (found,) = findings(run.items([TARGET]))
        assert (found.rule, found.severity, found.owner) == ("VNIC001", "high", "nova")
        assert (found.about.name, found.about.id, found.about.mac, found.about.index) == (
            "web-1", UUID.format(1), MAC.format(16), 0,
        )  # fmt: skip
        assert found.location == Location(
            TARGET, None, None, f"servers/{UUID.format(1)}/ports/port-1-0"
        )
        assert (run.summary.domains, run.summary.nics) == (2, 3)
        (result,) = run.results
        assert (result.target, result.status, result.domains, result.nics) == (TARGET, "ok", 2, 3)

    def test_images_and_flavors_are_judged_as_those_of_files(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = [image("old", hw_vif_model="e1000"), flavor()]
        run = run_of(cloud.work("VNIC062"))
        audited = [item for item in run.items([TARGET]) if isinstance(item, Audited)]
        assert [(item.scope, item.subject, item.target) for item in audited] == [
            ("image", "old", TARGET),
            ("flavor", "m1.small", TARGET),
        ]
        (found,) = audited[0].findings
        assert (found.rule, found.owner, found.location.target) == ("VNIC062", "nova", TARGET)

    def test_an_image_is_the_same_by_whatever_name_its_cloud_is_called(
        self, cloud: FakeCloud
    ) -> None:
        one = image("old", hw_vif_model="e1000")
        cloud.clouds["prod"] = [one]
        cloud.clouds["admin"] = [replace(one, target="openstack:admin", name="renamed")]
        first, second = (
            findings(run_of(cloud.work("VNIC062")).items([name]))
            for name in (TARGET, "openstack:admin")
        )
        assert first[0].fingerprint == second[0].fingerprint

    @pytest.mark.parametrize("identity", [UUID.format(77), "m1"])
    def test_a_flavor_is_the_same_by_whatever_name_its_cloud_is_called(
        self, cloud: FakeCloud, identity: str
    ) -> None:
        one = replace(flavor("big", hw_vif_multiqueue_enabled="true"), id=identity)
        place = Location("openstack:admin", xpath=f"flavors/{identity}")
        cloud.clouds["prod"] = [one]
        cloud.clouds["admin"] = [replace(one, target="openstack:admin", location=place)]
        cloud.clouds["other"] = [replace(one, id="2"), replace(one, id=UUID.format(78))]
        first, second, others = (
            findings(run_of(cloud.work("VNIC066")).items([f"openstack:{name}"]))
            for name in ("prod", "admin", "other")
        )
        assert [found.fingerprint for found in first] == [found.fingerprint for found in second]
        assert len({found.fingerprint for found in (*first, *others)}) == 3

    def test_the_name_of_a_flavor_counts_where_its_id_is_no_uuid(self, cloud: FakeCloud) -> None:
        for identity, marks in (("1", 2), (UUID.format(77), 1)):
            one = replace(flavor("big", hw_vif_multiqueue_enabled="true"), id=identity)
            cloud.clouds["prod"] = [one, replace(one, name="renamed")]
            found = findings(run_of(cloud.work("VNIC066")).items([TARGET]))
            assert len({finding.fingerprint for finding in found}) == marks

    def test_the_reader_is_given_the_name_and_the_deadline(self, cloud: FakeCloud) -> None:
        run = AuditRun(cloud.work(), RunOptions(jobs=1, live=LiveOptions(deadline=7.5)))
        assert list(run.items([TARGET])) == []
        assert cloud.asked == [("prod", 7.5)]

    def test_what_the_reader_says_at_its_end_is_kept(self, cloud: FakeCloud) -> None:
        cloud.notes = ("hosts are told to admins only",)
        cloud.calls = {"compute": 5, "network": 4}
        run = run_of(cloud.work())
        list(run.items([TARGET]))
        (result,) = run.results
        assert (result.notes, result.calls) == (cloud.notes, cloud.calls)

    def test_two_names_of_one_cloud(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY)]
        cloud.clouds["admin"] = [server(1, LEGACY), server(2, LEGACY)]
        run = run_of(cloud.work("VNIC001"))
        found = findings(run.items([TARGET, "openstack:admin"]))
        assert [(f.about.name, f.location.target) for f in found] == [
            ("web-1", TARGET), ("web-2", TARGET),
        ]  # fmt: skip
        assert (run.summary.domains, run.summary.nics) == (2, 2)


class TestFailure:
    def test_a_cloud_that_cannot_be_reached_failed(self, cloud: FakeCloud) -> None:
        cloud.failure = TargetError("Keystone refuses the password", file=TARGET)
        run = run_of(cloud.work("VNIC001"))
        assert list(run.items([TARGET])) == []
        (result,) = run.results
        assert (result.status, result.error) == (
            "failed", f"{TARGET}: Keystone refuses the password",
        )  # fmt: skip

    def test_what_was_read_before_is_reported(self, cloud: FakeCloud) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY), ReadError("server x: no id", TARGET)]
        cloud.failure = KeyError("odd")
        run = run_of(cloud.work("VNIC001"))
        assert len(findings(run.items([TARGET]))) == 1
        (result,) = run.results
        assert (result.status, result.unread) == ("partial", 2)
        assert [error.message for error in result.errors] == [
            "server x: no id", "unexpected failure: KeyError: 'odd'",
        ]  # fmt: skip

    def test_without_openstacksdk_nothing_is_read(
        self, monkeypatch: pytest.MonkeyPatch, cloud: FakeCloud
    ) -> None:
        monkeypatch.delitem(sys.modules, "vnicaudit.platforms.openstack.session", raising=False)
        monkeypatch.setitem(sys.modules, "openstack.config", None)
        with pytest.raises(MissingExtraError, match=r"pip install '\.\[openstack\]'"):
            unique_targets([TARGET, "guest.xml"], every_platform().targets)
        assert cloud.asked == []


class TestLibvirt:
    def test_a_server_and_its_domain_are_judged_once(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]]
    ) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY), server(2, LEGACY)]
        live[URI] = [guest(1, (MAC.format(16), "rtl8139"))]
        run = run_of(cloud.work("VNIC001"))
        found = findings(run.items([URI, TARGET]))
        assert [(f.about.name, f.about.mac, f.location.target) for f in found] == [
            ("instance-00000001", MAC.format(16), URI),
            ("web-2", MAC.format(32), TARGET),
        ]
        assert len({f.fingerprint for f in found}) == 2
        assert (run.summary.domains, run.summary.nics, run.summary.findings) == (2, 2, 2)
        assert [(r.target, r.domains) for r in run.results] == [(URI, 1), (TARGET, 2)]

    def test_a_finding_is_the_same_whichever_way_it_was_found(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]]
    ) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY)]
        live[URI] = [guest(1, (MAC.format(16), "rtl8139"))]
        alone, joined = (
            findings(run_of(cloud.work("VNIC001")).items(names))
            for names in ([TARGET], [TARGET, URI])
        )
        assert [f.fingerprint for f in alone] == [f.fingerprint for f in joined]

    def test_the_domain_has_what_its_cloud_keeps(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]]
    ) -> None:
        one = server(1)
        cloud.clouds["prod"] = [one]
        bare = UUID.format(1).replace("-", "").upper()
        live[URI] = [guest(1, (MAC.format(16), "virtio"), uuid=bare)]
        (domain,) = cloud.resolved(TARGET, URI)
        assert (domain.declared.form, domain.declared.server) == ("live", one.declared.server)
        assert domain.cloud == one.cloud

    def test_a_host_that_does_not_answer_leaves_its_servers_to_the_api(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]]
    ) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY)]
        live[URI] = [ReadError("no answer within 30 s", URI)]
        run = run_of(cloud.work("VNIC001"))
        (found,) = findings(run.items([TARGET, URI]))
        assert found.location.target == TARGET
        assert [(r.target, r.status) for r in run.results] == [(TARGET, "ok"), (URI, "failed")]

    def test_a_server_on_two_hosts_is_judged_on_both_and_counted(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]]
    ) -> None:
        """While it migrates, or where a host came back after an evacuation."""
        other = "qemu+ssh://cmp2/system"
        cloud.clouds["prod"] = [server(1)]
        live[URI] = live[other] = [guest(1, (MAC.format(16), "virtio"))]
        run = run_of(cloud.work("VNIC001"))
        assert len(list(run.items([TARGET, URI, other]))) == 4, "two domains and two hosts"
        assert run.summary.domains == 2

    def test_a_domain_that_is_no_server_stays_as_it_is(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]]
    ) -> None:
        cloud.clouds["prod"] = []
        nameless = replace(guest(1, (MAC.format(16), "virtio")), uuid=None)
        live[URI] = [guest(2, (MAC.format(32), "virtio")), nameless]
        assert [domain.declared.server for domain in cloud.resolved(TARGET, URI)] == [None, None]

    def test_bindings_are_those_of_the_domains_own_nics(self) -> None:
        """The order of Nova's ports is not that of the domain's NICs."""
        first, second = PortBinding("normal", "ovs"), PortBinding("vdpa", "ovs")
        one = server(1, port(), port())
        kept = one.declared.server
        assert kept is not None
        declared = one.declared.with_server(replace(kept, bindings=(first, second)))
        macs = [nic.mac or "" for nic in one.nics]
        domain = guest(1, (macs[1], "virtio"), (MAC.format(99), "e1000"), (macs[0], "virtio"))
        joined = with_server(domain, replace(one, declared=declared))
        assert joined.declared.server is not None
        assert joined.declared.server.bindings == (second, PortBinding(), first)

    @pytest.mark.parametrize(
        ("by_definition", "by_cloud", "joined"),
        [
            ("likely-ready", "ready", "ready"),
            ("unknown", "needs-driver", "needs-driver"),
            ("likely-ready", "unknown", "likely-ready"),
            ("ready", "likely-ready", "ready"),
            ("needs-driver", "ready", "needs-driver"),
        ],
    )
    def test_the_surer_of_both_says_what_the_guest_can_drive(
        self, by_definition: str, by_cloud: str, joined: str
    ) -> None:
        domain, one = guest(1), server(1)
        domain = replace(domain, declared=replace(domain.declared, readiness=by_definition))
        one = replace(one, declared=replace(one.declared, readiness=by_cloud))
        assert with_server(domain, one).declared.readiness == joined

    def test_a_qemu_that_says_nothing_of_nova_is_novas(self) -> None:
        """Its command line may name no vendor; Nova's own UUID does."""
        domain = guest(1, (MAC.format(16), "virtio"))
        domain = replace(domain, declared=replace(domain.declared, owner="qemu"))
        assert with_server(domain, server(1)).declared.owner == "nova"

    def test_processes_are_joined_too(self, cloud: FakeCloud, tmp_path: Path) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY)]
        folder = tmp_path / "7"
        (folder / "fd").mkdir(parents=True)
        (folder / "task").mkdir()
        words = [
            "/usr/bin/qemu-system-x86_64", "-name", "guest=instance-00000001", "-uuid",
            UUID.format(1), "-nodefaults", "-device", f"rtl8139,mac={MAC.format(16)}",
        ]  # fmt: skip
        (folder / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
        run = run_of(cloud.work("VNIC001"))
        found = findings(run.items([str(folder), TARGET]))
        assert [(f.about.name, f.owner) for f in found] == [("instance-00000001", "nova")]
        assert run.summary.domains == 1


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Two definitions of Nova's, as ``virsh dumpxml`` writes them; one without a UUID."""
        path = tmp_path / "dumps"
        path.mkdir()
        known = f"<uuid>{UUID.format(1)}</uuid>"
        (path / "one.xml").write_text(XML.format(uuid=known, mac=MAC.format(16)))
        (path / "two.xml").write_text(XML.format(uuid="", mac="52:54:00:00:00:01"))
        return path

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_a_definition_waits_for_its_cloud(
        self, cloud: FakeCloud, folder: Path, jobs: int
    ) -> None:
        for number in range(300 if jobs > 1 else 0):  # enough for worker processes
            (folder / f"{number:03}.txt").write_text("nothing of interest\n")
        cloud.clouds["prod"] = [server(1, LEGACY), server(2, LEGACY)]
        run = AuditRun(cloud.work("VNIC001"), RunOptions(jobs=jobs))
        found = findings(run.items([TARGET, str(folder)]))
        assert [f.location.file or f.location.target for f in found] == [
            str(folder / "two.xml"), TARGET, str(folder / "one.xml"),
        ]  # fmt: skip
        assert (run.summary.domains, run.summary.nics) == (3, 3)
        assert [(r.target, r.status, r.domains) for r in run.results] == [
            (TARGET, "ok", 2), (str(folder), "ok", 2),
        ]  # fmt: skip

    def test_one_that_is_no_server_is_judged_all_the_same(
        self, cloud: FakeCloud, folder: Path
    ) -> None:
        cloud.failure = TargetError("no answer", file=TARGET)
        run = run_of(cloud.work("VNIC001"))
        assert len(findings(run.items([str(folder), TARGET]))) == 2
        assert [r.status for r in run.results] == ["ok", "failed"]

    def test_standard_input_waits_too(self, cloud: FakeCloud, folder: Path) -> None:
        cloud.clouds["prod"] = [server(1, LEGACY)]
        with (folder / "one.xml").open("rb") as stream:
            run = AuditRun(cloud.work("VNIC001"), RunOptions(jobs=1), stdin=stream)
            (found,) = findings(run.items(["-", TARGET]))
        assert found.location.file == "-"

    def test_without_a_cloud_nothing_waits(self, folder: Path) -> None:
        run = run_of(audit_work("VNIC001"))
        assert [f.location.file for f in findings(run.items([str(folder)]))] == [
            str(folder / "one.xml"), str(folder / "two.xml"),
        ]  # fmt: skip


NOVA = "[DEFAULT]\n{host}\n[libvirt]\nvirt_type = {kind}\nrx_queue_size = {rx}\n"


def nova_conf(path: Path, host: str = "", kind: str = "kvm", rx: int = 512) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(NOVA.format(host=f"host = {host}" if host else "", kind=kind, rx=rx))
    return str(path)


class TestNova:
    def test_nova_conf_of_its_host_is_joined_with_a_server(
        self, cloud: FakeCloud, tmp_path: Path
    ) -> None:
        file = nova_conf(tmp_path / "nova.conf", "cmp1", kind="qemu")
        cloud.clouds["prod"] = [
            server(1, host="cmp1"),
            server(2, host="cmp2"),
            server(3, host=None),
        ]
        first, second, third = cloud.resolved(TARGET, file)
        kept = first.declared.server
        assert kept is not None
        assert kept.node is not None
        assert kept.node.file == file
        assert (kept.node.value("rx_queue_size"), kept.node.value("max_queues")) == ("512", "")
        assert first.declared.type == "qemu", "what Nova makes a domain of"
        assert second.declared.server is not None
        assert third.declared.server is not None
        assert (second.declared.server.node, third.declared.server.node) == (None, None)

    def test_and_with_the_domain_that_it_became(
        self, cloud: FakeCloud, live: dict[str, list[Domain | ReadError]], tmp_path: Path
    ) -> None:
        file = nova_conf(tmp_path / "cmp1/nova.conf")
        cloud.clouds["prod"] = [server(1)]
        live[URI] = [guest(1, (MAC.format(16), "virtio"))]
        (domain,) = cloud.resolved(TARGET, URI, file)
        assert domain.declared.server is not None
        assert domain.declared.server.node is not None
        assert domain.declared.type == "kvm", "what libvirt says"

    @pytest.mark.parametrize("met", [False, True])
    def test_a_host_of_two_clouds_is_joined_with_neither(
        self,
        cloud: FakeCloud,
        live: dict[str, list[Domain | ReadError]],
        tmp_path: Path,
        met: bool,
    ) -> None:
        file = nova_conf(tmp_path / "cmp1/nova.conf")
        other = nova_conf(tmp_path / "cmp2/nova.conf")
        cloud.clouds["prod"] = [server(1), server(2, host="cmp2")]
        cloud.clouds["test"] = [server(3)]
        live[URI] = [guest(1, (MAC.format(16), "virtio"))] if met else []
        run = run_of(NicsWork(Assumptions(), cloud.platforms))
        names = [TARGET, "openstack:test", file, other, *([URI] if met else [])]
        found = {}
        for item in run.items(names):
            assert isinstance(item, Domain)
            assert item.declared.server is not None
            found[item.uuid] = item.declared.server.node
        assert found.keys() == {UUID.format(number) for number in (1, 2, 3)}
        assert [number for number in (1, 2, 3) if found[UUID.format(number)]] == [2]
        notes = {result.target: result.notes for result in run.results}
        assert notes[file] == (
            (
                f"{file}: not used for the servers of its host, because openstack:prod, "
                "openstack:test each have a host named cmp1; name one cloud at a time"
            ),
        )
        assert notes[other] == ()

    def test_one_cloud_under_two_names_has_each_host_once(
        self, cloud: FakeCloud, tmp_path: Path
    ) -> None:
        file = nova_conf(tmp_path / "cmp1/nova.conf")
        cloud.clouds["prod"] = cloud.clouds["again"] = [server(1)]
        (domain,) = cloud.resolved(TARGET, "openstack:again", file)
        assert domain.declared.server is not None
        assert domain.declared.server.node is not None

    def test_it_is_read_before_the_cloud_whatever_the_order(
        self, cloud: FakeCloud, tmp_path: Path
    ) -> None:
        cloud.clouds["prod"] = [server(1)]
        for name in ("one", "two"):
            file = nova_conf(tmp_path / name / "cmp1.conf", rx=1024)
            names = (TARGET, file) if name == "one" else (file, TARGET)
            (domain,) = cloud.resolved(*names)
            effective = domain.nics[0].effective
            assert effective is not None
            assert effective.rx_queue_size.effective == 1024

    def test_files_that_are_given_as_one_configuration(
        self, cloud: FakeCloud, tmp_path: Path
    ) -> None:
        first = nova_conf(tmp_path / "nova.conf", "cmp1")
        second = tmp_path / "more.conf"
        second.write_text("[libvirt]\nrx_queue_size = 1024\n")
        cloud.clouds["prod"] = [server(1)]
        options = RunOptions(jobs=1, nova_config=(first, str(second)))
        (domain,) = AuditRun(NicsWork(Assumptions(), cloud.platforms), options).items([TARGET])
        assert isinstance(domain, Domain)
        effective = domain.nics[0].effective
        assert effective is not None
        assert effective.rx_queue_size.effective == 1024

    def test_one_that_names_no_host_is_said_so(self, cloud: FakeCloud, tmp_path: Path) -> None:
        file = nova_conf(tmp_path / "nova.conf")
        cloud.clouds["prod"] = [server(1)]
        run = run_of(cloud.work("VNIC001"))
        list(run.items([file, TARGET]))
        assert run.results[0].notes == (
            (
                f"{file}: not used for the servers of its host, because the host is unknown: "
                "neither [DEFAULT] host nor its path names one of the hosts"
            ),
        )
        assert run.results[1].notes == ()

    def test_without_a_cloud_nothing_is_said_of_it(self, tmp_path: Path) -> None:
        run = run_of(audit_work("VNIC001"))
        list(run.items([nova_conf(tmp_path / "nova.conf")]))
        assert run.results[0].notes == ()

    def test_nodes_are_compared_only_where_a_rule_does(
        self, cloud: FakeCloud, tmp_path: Path
    ) -> None:
        for name, size in (("a", 1024), ("b", 256), ("c", 1024)):
            nova_conf(tmp_path / name / "nova.conf", rx=size)
        cloud.clouds["prod"] = [server(1, host="a")]
        for rules, scopes in ((("VNIC069",), ["site"] * 3), (("VNIC001",), [])):
            items = list(run_of(cloud.work(*rules)).items([str(tmp_path), TARGET]))
            found = [i.scope for i in items if isinstance(i, Audited) and i.scope == "site"]
            assert found == scopes


def test_a_report_in_json_has_notes_and_calls() -> None:
    """They are part of each target's record."""
    from vnicaudit.model.report import TargetResult
    from vnicaudit.reports.safe import encode

    result = TargetResult(TARGET, "ok", notes=("so",), calls={"compute": 2})
    assert json.loads(encode(result)) == {
        "target": TARGET, "status": "ok", "error": None, "domains": 0, "nics": 0, "errors": [],
        "unread": 0, "notes": ["so"], "calls": {"compute": 2},
        "not_judged": [], "not_judged_count": 0, "passed_over": False,
        "unrecognised": [], "unrecognised_count": 0, "name": "",
    }  # fmt: skip
