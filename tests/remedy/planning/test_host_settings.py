"""Hosts as targets of a plan: what their findings propose, and what stands in the way."""

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from tests.remedy.applying.settings_host import step_to
from tests.remedy.planning.guests import HERE, PC, pci
from tests.remedy.planning.planned import requested
from tests.remedy.works import work
from vnicaudit.audit.reading.targets import Target, target_of
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.host_settings import KEEPING
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.host_facts import (
    CpuFacts,
    Feature,
    HostFacts,
    HostLink,
    Interrupt,
    Ovs,
    OvsPort,
    Qeth,
    Queue,
    SettingOwner,
    Softnet,
)
from vnicaudit.model.nic import Nic, RunningNic
from vnicaudit.model.plan import Plan, SettingUnit
from vnicaudit.platforms.host.visiting import visit
from vnicaudit.platforms.qemu.proc import config_of
from vnicaudit.remedy.planning.run import PlanOptions, make_plan
from vnicaudit.reports.plan.steps import StepText
from vnicaudit.reports.writers import Options

TARGET = "ssh://kvm1"
FACTS = HostFacts(
    cpus=CpuFacts(online=(0, 1, 2, 3), isolated=(2, 3)),
    links=(
        HostLink(
            name="eth0",
            physical=True,
            queues=(Queue(name="rx-0", cpus=(1, 2)), Queue(name="rx-1", cpus=())),
        ),
    ),
)


def plan_of(
    facts: HostFacts,
    monkeypatch: pytest.MonkeyPatch,
    options: PlanOptions | None = None,
    guests: Sequence[LiveDomain] = (),
) -> Plan:
    """The plan of a host with these facts and guests."""

    def read(_url: str, options: LiveOptions) -> Iterator[Host | HostFacts | LiveDomain]:
        assert options.window == 2
        yield Host("kvm1")
        yield facts
        yield from guests

    monkeypatch.setattr(visit, "read_visit", read)
    platforms = every_platform()
    asked = requested(work(platforms), options=options or PlanOptions())
    return make_plan([target_of(TARGET, platforms.targets)], platforms.planners, asked)


def test_a_finding_becomes_a_step_on_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = plan_of(FACTS, monkeypatch).steps
    assert (step.about.kind, step.about.name, step.owner) == ("link", "eth0", "host")
    assert step.rules == ("VNIC115",)
    assert step.diff.endswith("-rps:eth0:rx-0=6\n+rps:eth0:rx-0=2\n")
    assert step.blocked == ()


def test_a_mask_of_every_queue_is_a_change_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = tuple(Queue(name=name, cpus=(0, 2)) for name in ("rx-0", "rx-1", "tx-0"))
    link = HostLink(name="eth0", physical=True, queues=queues)
    (step,) = plan_of(replace(FACTS, links=(link,)), monkeypatch).steps
    assert step.changes[0].field == "rps:eth0:rx-*"
    unit = step.unit
    assert isinstance(unit, SettingUnit)
    assert unit.old == {"rps:eth0:rx-0": "5", "rps:eth0:rx-1": "5", "xps:eth0:tx-0": "5"}
    assert unit.values == {"rps:eth0:rx-0": "1", "rps:eth0:rx-1": "1", "xps:eth0:tx-0": "1"}


def test_the_missing_half_of_rfs_is_set_on_each_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    queues = tuple(Queue(name=name, flows=0) for name in ("rx-0", "rx-1"))
    links = tuple(HostLink(name=name, physical=True, queues=queues) for name in ("eth0", "eth1"))
    sysctls = {"net.core.rps_sock_flow_entries": "32768"}
    steps = plan_of(replace(FACTS, links=links, sysctls=sysctls), monkeypatch).steps
    assert [
        (step.rules, step.unit.values) for step in steps if isinstance(step.unit, SettingUnit)
    ] == [
        (("VNIC050",), {f"rps-flows:{name}:{one.name}": "16384" for one in queues})
        for name in ("eth0", "eth1")
    ]


def test_what_is_not_known_now_is_left_to_people(monkeypatch: pytest.MonkeyPatch) -> None:
    link = HostLink(name="eth 0", physical=True, queues=(Queue(name="rx-0", cpus=(1, 2)),))
    plan = plan_of(replace(FACTS, links=(link,)), monkeypatch)
    assert plan.steps == ()
    (note,) = plan.notes
    assert note.startswith("ssh://kvm1: 2 findings without a change that can be planned")


def test_a_container_shows_its_host_and_may_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = plan_of(replace(FACTS, container="docker"), monkeypatch).steps
    assert [one.code for one in step.blocked] == ["operator-only"]


@pytest.mark.parametrize(
    ("links", "codes"),
    [
        ([HostLink(name="eth0", master="bond0"), HostLink(name="bond0", kind="bond")], ["teamed"]),
        ([HostLink(name="eth1", master="eth0"), HostLink(name="eth0", kind="bond")], ["teamed"]),
        ([HostLink(name="eth0", kind="vlan", lower="eth1")], ["teamed"]),
        ([HostLink(name="eth0", kind="veth", lower="eth1"), HostLink(name="eth1")], []),
        ([HostLink(name="eth0", master="br0"), HostLink(name="br0", kind="bridge")], []),
    ],
)
def test_features_of_members_go_together(links: list[HostLink], codes: list[str]) -> None:
    features = {"tx-checksumming": Feature(on=True)}
    links = [replace(one, features=features) if one.name == "eth0" else one for one in links]
    step = step_to(HostFacts(links=tuple(links)), TARGET, {"feature:eth0:tx-checksumming": "off"})
    assert [one.code for one in step.blocked] == codes


@pytest.mark.parametrize(("kind", "mac"), [("", "52:54:00:00:00:01"), ("bridge", ""), ("vlan", "")])
def test_a_mac_address_that_follows_other_links_identifies_none(kind: str, mac: str) -> None:
    link = HostLink(name="eth0", kind=kind, mac="52:54:00:00:00:01", queue_length=1)
    assert step_to(HostFacts(links=(link,)), TARGET, {"queue-length:eth0": "1000"}).unit.mac == mac


@pytest.mark.parametrize(("managed_by", "codes"), [((), []), (("osa0",), ["operator-only"])])
def test_an_adapter_by_which_the_host_is_reached_is_not_taken_offline(
    managed_by: tuple[str, ...], codes: list[str]
) -> None:
    link = HostLink(name="osa0", qeth=Qeth(device="0.0.1000", buffers=64))
    facts = HostFacts(links=(link,), managed_by=managed_by)
    step = step_to(facts, TARGET, {"qeth:osa0:buffer_count": "128"})
    assert [one.code for one in step.blocked] == codes


@pytest.mark.parametrize(("kind", "told"), [("bridge", 1), ("", 0)])
def test_a_bridge_whose_mtu_is_set_leaves_its_ports(kind: str, told: int) -> None:
    facts = HostFacts(links=(HostLink(name="eth0", kind=kind, mtu=1500),))
    step = step_to(facts, TARGET, {"mtu:eth0": "9000"})
    assert len([one for one in step.notes if "follow its ports again" in one]) == told


def test_an_owner_is_given_a_file_that_the_procedure_names() -> None:
    owner = SettingOwner(name="machine-config", evidence="/x")
    facts = replace(FACTS, owners=(owner,), sysctls={"net.core.rps_sock_flow_entries": "0"})
    step = step_to(facts, TARGET, {"sysctl::net.core.rps_sock_flow_entries": "8192"})
    (file,), (sentence,) = step.files, step.procedure
    assert file.name == "machine-config-vnicaudit-host.yaml"
    assert file.name in sentence
    shown = "".join(StepText(Options()).lines(step))
    assert f"file: {file.name}\n" in shown
    for line in file.text.splitlines():
        assert f"{line}\n" in shown


def test_the_hosts_of_an_inventory_are_read_side_by_side() -> None:
    read: list[str] = []

    def hosts(targets: Sequence[Target]) -> Iterator[tuple[Target, Iterator[Host | HostFacts]]]:
        for target in targets:
            read.append(target.name)
            yield target, iter((Host("kvm1"), replace(FACTS, machine="11" * 12)))

    platforms = every_platform()
    asked = requested(work(platforms), options=PlanOptions())._replace(read_hosts=hosts)
    plan = make_plan([target_of(TARGET, platforms.targets)], platforms.planners, asked)
    (step,) = plan.steps
    assert isinstance(step.unit, SettingUnit)
    assert (read, step.unit.machine) == ([TARGET], "11" * 12)


def test_what_may_hurt_is_planned_if_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"dpdk-init": "true"}
    ports = (OvsPort(name="p0", type="dpdk", status={"numa_id": "0"}),)
    cpus = CpuFacts(online=(0, 1), isolated=(1,), nodes={0: (0, 1)}, cores=((0,), (1,)))
    ovs = Ovs(dpdk=True, other_config=config, ports=ports, pmds=())
    facts = HostFacts(cpus=cpus, links=(), has_ovs=True, ovs=ovs)
    plan = plan_of(facts, monkeypatch)
    assert (plan.steps, [(one.rules, one.code) for one in plan.not_planned]) == (
        (),
        [(("VNIC049",), "unsafe")],
    )
    (step,) = plan_of(facts, monkeypatch, PlanOptions(unsafe=True)).steps
    assert (step.diff.splitlines()[3:], step.safe) == (
        ["-ovs::pmd-cpu-mask=", "+ovs::pmd-cpu-mask=0x2"],
        False,
    )
    assert any("keeps its keys in its database" in note for note in step.notes)


def test_what_is_the_whole_hosts_is_not_changed_in_a_namespace() -> None:
    facts = HostFacts(cpus=CpuFacts(governors={"powersave": (0, 1)}), links=())
    facts = replace(facts, modules={"vhost_net": "not loaded"})
    for target, codes in (("netns://a", ["operator-only"]), (TARGET, [])):
        for field, value in (("governor::cpu1", "performance"), ("module::vhost_net", "loaded")):
            step = step_to(facts, target, {field: value})
            assert [one.code for one in step.blocked] == codes


def test_a_module_that_is_not_loaded_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: dict[str, dict[str, str]] = {folder: {} for folder in KEEPING}
    facts = HostFacts(modules={"vhost_net": "not loaded"}, own_files=folders, links=())

    guest = LiveDomain(Domain("web", PC, HERE, (pci("virtio"),)), HostConfig())
    plan = plan_of(facts, monkeypatch, guests=(guest,))
    at_once, kept = plan.steps
    assert (at_once.rules, at_once.about.kind, at_once.safe) == (("VNIC023",), "host", True)
    assert at_once.diff == (
        "--- host\n+++ host\n@@ settings @@\n-module::vhost_net=not loaded\n"
        "+module::vhost_net=loaded\n"
    )
    assert kept.diff.endswith("\n+vhost_net\n")


def test_a_nic_that_runs_without_vhost_has_the_module_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """VNIC020 is of the NIC, and the same guest makes its host one that needs the module."""
    facts = HostFacts(modules={"vhost_net": "not loaded"}, links=())
    for name in ("virtio", "virtio-transitional"):
        running = RunningNic("virtio-net-pci", name, "tap", vhost=False)
        nic = config_of(running, origin="qemu", arch="x86_64")
        domain = Domain("web", PC, HERE, (Nic(0, nic, HERE, running=running),))
        host = HostConfig()
        nics = work().domain(domain, host, TARGET).findings
        assert "VNIC020" in {one.rule for one in nics}
        (step,) = plan_of(facts, monkeypatch, guests=(LiveDomain(domain, host),)).steps
        assert (step.rules, step.unit.kind) == (("VNIC023",), "setting")


def test_several_settings_of_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("net.core.netdev_budget", "net.core.netdev_budget_usecs")
    cpus = CpuFacts(softnet_growth=Softnet(dropped=0, squeezed=90))
    sysctls = dict(zip(names, ("300", "8000"), strict=True))
    facts = HostFacts(window=2, cpus=cpus, sysctls=sysctls, links=())
    (step,) = plan_of(facts, monkeypatch).steps
    assert step.diff.splitlines()[3:] == [
        f"-sysctl::{names[0]}=300", f"+sysctl::{names[0]}=600",
        f"-sysctl::{names[1]}=8000", f"+sysctl::{names[1]}=16000",
    ]  # fmt: skip


def test_interrupts_are_moved_and_no_file_keeps_that(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        Interrupt(number=str(number), device="q", link="eth0", allowed=(0, 1), effective=(0,))
        for number in range(1, 5)
    ]
    cpus = CpuFacts(online=(0, 1), irqbalance=False, interrupts=tuple(found))
    link = HostLink(name="eth0", physical=True, mac="52:54:00:00:00:01")
    folders: dict[str, dict[str, str]] = {folder: {} for folder in KEEPING}
    facts = HostFacts(cpus=cpus, links=(link,), own_files=folders)
    (step,) = plan_of(facts, monkeypatch).steps
    assert isinstance(step.unit, SettingUnit)
    assert step.unit.values == {"irq:eth0:3": "1", "irq:eth0:4": "1"}
    assert step.unit.old == {"irq:eth0:3": "0-1", "irq:eth0:4": "0-1"}
    assert any("interrupts have other numbers then" in note for note in step.notes)


def test_another_domain_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    other = PlanOptions(domains=frozenset({"eth0"}))
    assert len(plan_of(FACTS, monkeypatch, other).steps) == 1
    assert plan_of(FACTS, monkeypatch, PlanOptions(to="vdpa")).steps == ()
