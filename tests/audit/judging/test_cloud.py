"""Servers that are judged: which rules judge them, how often, and what their fixes and suppressions
are."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.audit.clouds import (
    MAC,
    PLACE,
    TARGET,
    UUID,
    audit_work,
    config,
    flavor,
    image,
    port,
    server,
)
from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.audit.judging.catalogue import LoadedRule, RuleSet, shipped_catalogue
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.fixes.owners import of_image, of_server
from vnicaudit.knowledge.fixes.wording import command_text
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Change, Location
from vnicaudit.model.fix import Advice, Fix, SetOption, SetProperty, StopSetStart
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import NovaVersions
from vnicaudit.model.rule import Judge, Problem, Subject

worded = every_platform().wordings.worded

SETTINGS = Location("vnicaudit.toml", "vnicaudit.toml", 1)


class TestRules:
    def test_only_those_that_say_so_judge_servers(self) -> None:
        rules = RuleSet[Subject]("nic", ["VNIC001", "VNIC020"])
        assert [rule.id for rule in rules.of()] == ["VNIC001", "VNIC020"]
        assert [rule.id for rule in rules.of("server")] == ["VNIC001"]
        assert [rule.id for rule in rules.of("manifest")] == ["VNIC020"]

    def test_the_catalogue_says_so(self) -> None:
        assert "servers" in shipped_catalogue().info("VNIC001").judges
        assert "servers" not in shipped_catalogue().info("VNIC020").judges


def counting(asked: list[Subject]) -> LoadedRule[Subject]:
    """A rule that notes what it is asked about."""

    def check(subject: Subject) -> Iterator[Problem]:
        asked.append(subject)
        yield Problem("it is so")

    judge = Judge("nic", applies=lambda _subject: True, check=check)
    return LoadedRule("VNIC999", "n", "low", judge)


def test_a_thousand_servers_of_one_image_get_one_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Subject] = []
    auditor = DomainAuditor(["VNIC001"], every_platform())
    monkeypatch.setattr(RuleSet, "of", lambda self, _form="": [counting(asked)] if self else [])
    found = [
        finding
        for number in range(1000)
        for finding in auditor.audit_domain(many(number), HostConfig(), TARGET).findings
    ]
    assert len(asked) == 2, "one for each of their two ports"
    assert len({finding.fingerprint for finding in found}) == 2000
    assert {finding.about.name for finding in found} == {f"vm-{number}" for number in range(1000)}


def many(number: int) -> Domain:
    """One of many servers that are alike in all but who they are."""
    one = server(1, port(), port(mtu=1450), kept=config(hw_vif_model="virtio"))
    uuid = f"00000000-0000-4000-8000-{number:012x}"
    nics = tuple(
        replace(nic, mac=f"fa:16:3e:{index:02x}:{number >> 8:02x}:{number & 255:02x}")
        for index, nic in enumerate(one.nics)
    )
    return replace(one, name=f"vm-{number}", uuid=uuid, nics=nics)


MODEL = Change("model", "rtl8139", "virtio", safe=True)
CLIENT = "openstack --os-cloud prod"
FOR_NEW = f" For new servers: {CLIENT} image set --property hw_vif_model=virtio image-jammy."


def fix_of(domain: Domain) -> str:
    """What VNIC001 proposes."""
    (finding,) = (
        DomainAuditor(["VNIC001"], every_platform())
        .audit_domain(domain, HostConfig(), TARGET)
        .findings
    )
    return finding.fix


class TestFixes:
    def test_commands_name_the_server_its_image_and_its_cloud(self) -> None:
        uuid = UUID.format(1)
        assert fix_of(server(1, port("rtl8139"))).startswith(
            f"openstack --os-cloud prod server stop {uuid}; on a controller (Nova 25.0 or "
            f"later) nova-manage "
            f"image_property set {uuid} --property hw_vif_model=virtio; openstack --os-cloud "
            f"prod server start "
            f"{uuid}. Or vnicaudit plan openstack:prod.{FOR_NEW}"
        )

    @pytest.mark.parametrize("state", ["gone", "volume"])
    def test_no_image_is_changed_that_is_not_there(self, state: str) -> None:
        kept = replace(config(), image=None, image_state=state)
        assert "For new servers" not in fix_of(server(1, port("rtl8139"), kept=kept))

    def test_nor_one_that_is_right(self) -> None:
        kept = replace(config(), image=image(hw_vif_model="virtio"))
        assert "For new servers" not in fix_of(server(1, port("rtl8139"), kept=kept))

    def test_a_nova_that_cannot_change_it(self) -> None:
        kept = replace(config(), nova=NovaVersions("2.88", 23, 24))
        assert fix_of(server(1, port("rtl8139"), kept=kept)) == (
            "This Nova (24.0 or older) cannot change it for an existing server: only new "
            f"servers get what their image says.{FOR_NEW}"
        )

    def test_a_nova_that_surely_can(self) -> None:
        kept = replace(config(), nova=NovaVersions("2.104", 34, 34))
        assert "; on a controller nova-manage" in fix_of(server(1, port("rtl8139"), kept=kept))

    def test_an_id_that_is_none_does_not_get_into_a_command(self) -> None:
        one = server(1, port("rtl8139"))
        assert one.cloud is not None
        hostile = replace(one, cloud=replace(one.cloud, id="x; rm -rf /"))
        assert "openstack --os-cloud prod server stop UUID;" in fix_of(hostile)
        bad = of_image(TARGET, replace(image(), id="$(reboot)"))
        setting = SetProperty("hw_vif_model", "virtio", "server-image")
        assert command_text(setting, bad) == (
            f"{CLIENT} image set --property hw_vif_model=virtio IMAGE"
        )

    @pytest.mark.parametrize(
        ("rule", "properties", "said"),
        [
            ("VNIC062", {"hw_vif_model": "e1000"}, "; only new servers get it. Existing ones"),
            ("VNIC063", {"os_distro": "debian12"}, ": it overrides libosinfo and nova.conf."),
            ("VNIC070", {"hw_vif_model": "lan9118"}, ", or another model that Nova's libvirt"),
        ],
    )
    def test_an_image_is_put_right_by_a_command_that_names_it(
        self, rule: str, properties: dict[str, str], said: str
    ) -> None:
        one = replace(image("old", **properties), libosinfo_model="e1000", id=UUID.format(9))
        (found,) = audit_work(rule).description(one, TARGET).findings
        command = f"{CLIENT} image set --property hw_vif_model=virtio {UUID.format(9)}"
        assert found.fix.startswith(command + said)

    @pytest.mark.parametrize("identity", [None, "x; rm -rf /", "$(reboot)", "--help", "", "a" * 65])
    def test_no_command_is_made_of_an_id_that_is_none(self, identity: str | None) -> None:
        one = replace(image("old", hw_vif_model="e1000"), id=identity)
        (found,) = audit_work("VNIC062").description(one, TARGET).findings
        assert found.fix.startswith("Set hw_vif_model=virtio on the image; only new servers get it")

    @pytest.mark.parametrize(
        ("change", "value", "text"),
        [
            (
                Change("rx_queue_size", None, "1024", safe=True),
                SetOption("rx_queue_size", "1024"),
                "The definition is Nova's: set [libvirt] rx_queue_size = 1024 in nova.conf of the "
                "compute nodes, then {client} server reboot --hard {uuid}.",
            ),
            (
                Change("queues", "8", "2", safe=True),
                SetOption("max_queues", None),
                "The definition is Nova's: lower [libvirt] max_queues in nova.conf of the compute "
                "node, then {client} server reboot --hard {uuid}.",
            ),
            (
                Change("packed", "on", None, safe=False, reason="so"),
                StopSetStart("hw_virtio_packed_ring", "false"),
                "{client} server stop {uuid}; on a controller (Nova 25.0 or later) nova-manage "
                "image_property set {uuid} --property hw_virtio_packed_ring=false; {client} server "
                "start {uuid}. Or vnicaudit plan openstack:prod. For new servers: {client} image "
                "set --property hw_virtio_packed_ring=false image-jammy. Hint. Unsafe: so.",
            ),
        ],
    )
    def test_other_changes(self, change: Change, value: Fix, text: str) -> None:
        one = server(1)
        assert one.cloud is not None
        named = of_server(one.cloud.target, one.cloud.id, one.declared.server)
        fix = worded(change, "Hint.", "nova", named)
        assert fix.values == (value, Advice(("Hint.",)))
        text = text.format(client=CLIENT, uuid=UUID.format(1))
        assert fix.text == (text if "Hint." in text else f"{text} Hint.")

    def test_a_domain_of_libvirts_knows_what_its_cloud_is_called(self) -> None:
        one = server(1, port("rtl8139"))
        met = replace(
            one,
            declared=of_libvirt(one.declared),
            location=Location("qemu+ssh://cmp1/system"),
        )
        assert f"Or vnicaudit plan {TARGET}." in fix_of(met)


def of_libvirt(declared: DomainConfig) -> DomainConfig:
    """The same, as libvirt describes it where the cloud was read."""
    return replace(declared, described_by="live", joined_server=declared.server)


def entry(**fields: object) -> Suppression:
    given = {"rule": "VNIC001", "reason": "agreed", "location": SETTINGS} | fields
    return Suppression(**given)  # type: ignore[arg-type]


class TestSuppressions:
    @pytest.mark.parametrize(
        "fields",
        [
            {"domain": "web-*"},
            {"domain": "instance-00000001"},
            {"uuid": UUID.format(1)},
            {"mac": MAC.format(16)},
            {"project": "project-1"},
            {"project": "project-1", "domain": "web-1"},
        ],
    )
    @pytest.mark.parametrize("form", ["server", "live"])
    def test_matches(self, fields: dict[str, object], form: str) -> None:
        work = audit_work("VNIC001", suppress=(entry(**fields),))
        one = server(1, port("rtl8139"))
        domain = one
        if form == "live":
            declared = of_libvirt(one.declared)
            domain = replace(one, name="instance-00000001", declared=declared)
        audited = work.domain(domain, HostConfig(), TARGET)
        assert (audited.findings, len(audited.suppressed)) == ((), 1)
        assert work.suppressor.settings.closing(work.usage()) is None

    @pytest.mark.parametrize(
        "fields", [{"project": "project-2"}, {"project": "project-*"}, {"domain": "db-*"}]
    )
    def test_does_not_match(self, fields: dict[str, object]) -> None:
        work = audit_work("VNIC001", suppress=(entry(**fields),))
        audited = work.domain(server(1, port("rtl8139")), HostConfig(), TARGET)
        assert len(audited.findings) == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"image": "old"},
            {"image": "o?d"},
            {"image": "image-old"},
            {"uuid": "image-old"},
            {},
        ],
    )
    def test_an_image_by_its_name_or_id(self, fields: dict[str, object]) -> None:
        work = audit_work("VNIC062", suppress=(entry(rule="VNIC062", **fields),))
        audited = work.description(image("old", hw_vif_model="e1000"), TARGET)
        assert (audited.findings, len(audited.suppressed)) == ((), 1)
        assert work.suppressor.settings.closing(work.usage()) is None

    @pytest.mark.parametrize(
        "fields",
        [
            {"image": "jammy"},
            {"flavor": "old"},
            {"domain": "old"},
            {"image": "old", "uuid": "image-jammy"},
            {"image": "old", "mac": MAC.format(16)},
            {"image": "old", "project": "project-1"},
        ],
    )
    def test_another_than_the_image(self, fields: dict[str, object]) -> None:
        work = audit_work("VNIC062", suppress=(entry(rule="VNIC062", **fields),))
        audited = work.description(image("old", hw_vif_model="e1000"), TARGET)
        assert (len(audited.findings), audited.suppressed) == (1, ())

    @pytest.mark.parametrize("fields", [{"flavor": "big"}, {"flavor": "b*"}, {"flavor": "f-1"}])
    def test_a_flavor_by_its_name_or_id(self, fields: dict[str, object]) -> None:
        work = audit_work("VNIC066", suppress=(entry(rule="VNIC066", **fields),))
        one = replace(flavor("big", hw_vif_multiqueue_enabled="true"), id="f-1")
        audited = work.description(one, TARGET)
        assert (audited.findings, len(audited.suppressed)) == ((), 1)

    def test_an_image_of_a_file_has_a_name_alone(self) -> None:
        work = audit_work("VNIC062", suppress=(entry(rule="VNIC062", image="old"),))
        place = Location("images.sh", "images.sh", 3)
        one = replace(image("old", hw_vif_model="e1000"), id=None, location=place)
        assert work.description(one, "images.sh").findings == ()

    def test_no_server_is_called_like_an_image(self) -> None:
        work = audit_work("VNIC001", suppress=(entry(image="web-1"), entry(flavor="web-1")))
        audited = work.domain(server(1, port("rtl8139")), HostConfig(), TARGET)
        assert len(audited.findings) == 1

    def test_one_that_is_not_needed_names_the_image(self) -> None:
        work = audit_work("VNIC062", suppress=(entry(rule="VNIC062", image="old"),))
        work.description(image("old"), TARGET)
        closing = work.suppressor.settings.closing(work.usage())
        assert closing is not None
        (found,) = closing.findings
        assert (found.rule, found.severity, found.about.name) == ("SUPP002", "low", "old")
        assert found.message.startswith("the suppression of VNIC062 for image old is not used")

    def test_what_is_in_no_cloud_is_in_no_project(self) -> None:
        work = audit_work("VNIC001", suppress=(entry(project="project-1"),))
        domain = replace(server(1, port("rtl8139")), cloud=None)
        assert len(work.domain(domain, HostConfig(), TARGET).findings) == 1

    def test_the_project_is_named_where_nothing_of_it_was_found(self) -> None:
        unused = entry(project="project-9")
        work = audit_work("VNIC001", suppress=(unused,))
        work.domain(server(1), HostConfig(), TARGET)
        closing = work.suppressor.settings.closing(work.usage())
        assert closing is not None
        assert closing.findings[0].message.startswith(
            "the suppression of VNIC001 for project project-9 is not used"
        )


def test_a_baseline_knows_a_server_by_its_id_and_mac() -> None:
    domain = server(1, port("rtl8139"))
    (finding,) = audit_work("VNIC001").domain(domain, HostConfig(), TARGET).findings
    work = audit_work("VNIC001")
    work._baseline = {finding.fingerprint: finding.severity}
    renamed = replace(domain, name="renamed", location=replace(PLACE, target="openstack:admin"))
    audited = work.domain(renamed, HostConfig(), TARGET)
    assert (audited.findings, len(audited.baselined)) == ((), 1)


def test_fingerprints_of_servers_stay_what_they_were() -> None:
    """Baselines that were written before are to hold: this value never changes."""
    (found,) = (
        DomainAuditor(["VNIC001"], every_platform())
        .audit_domain(server(1, port("rtl8139")), HostConfig(), TARGET)
        .findings
    )
    assert found.fingerprint == "6a72bc5d8ee1630b9351e05b"
