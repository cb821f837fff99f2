"""Clouds among the targets of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from tests.remedy.planning.cloud.clouds import (
    CLOUD,
    ID,
    MAC,
    SECOND,
    flavor,
    image,
    port,
    server,
)
from tests.remedy.planning.planned import NOVA, definition, interface, live
from tests.remedy.works import work
from vnicaudit.audit.cloud import CloudItem
from vnicaudit.audit.live import LiveDefinition
from vnicaudit.audit.options import LiveOptions, RunOptions
from vnicaudit.audit.settings_keys import PolicyTable
from vnicaudit.audit.targets import Target
from vnicaudit.errors import UsageError
from vnicaudit.model.host import Host
from vnicaudit.model.plan import Plan
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.planning import run, source
from vnicaudit.remedy.planning.cloud import run as clouds
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import Source

URI = "qemu+ssh://cmp1/system"


class _Cloud:
    """What stands for reading a cloud: what is in it, by the name of the target."""

    known: ClassVar[dict[str, list[CloudItem]]] = {}
    said: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, target: str, live: LiveOptions) -> None:
        assert live.deadline > 0
        self._target = target
        self.notes: tuple[str, ...] = ()

    def items(self) -> Iterator[CloudItem]:
        """All of it; what is to be said of the reading comes when it has ended."""
        yield from self.known[self._target]
        self.notes = self.said.get(self._target, ())


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[CloudItem]]:
    """Name of a cloud -> what is in it."""
    monkeypatch.setattr(_Cloud, "known", {CLOUD: [server(), image(), flavor()]})
    monkeypatch.setattr(_Cloud, "said", {})
    monkeypatch.setattr(clouds, "CloudTarget", _Cloud)
    return _Cloud.known


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Source]]:
    """URI of a live host -> its domains."""
    known: dict[str, list[Source]] = {}

    def definitions(uri: str, _options: object) -> Iterator[Host | LiveDefinition]:
        yield Host(uri)
        for one in known[uri]:
            yield LiveDefinition(one.running, one.domain, one.text, one.host, local=False)

    monkeypatch.setattr(source, "read_live_definitions", definitions)
    return known


def plan(*targets: Target, options: PlanOptions = PlanOptions()) -> Plan:  # noqa: B008
    seen: list[tuple[str, int]] = []
    names = targets or (Target(CLOUD, "openstack"),)
    made = run.make_plan(
        names, work(), work(), RunOptions(), options, lambda *now: seen.append(now)
    )
    assert {name for name, _number in seen} <= {target.name for target in names}
    return made


def test_images_come_before_servers() -> None:
    made = plan()
    assert made.targets == (CLOUD,)
    assert [(one.id, one.nic.domain) for one in made.steps] == [("1", "legacy"), ("2", "web-01")]
    assert (made.left, made.errors, made.notes) == ((), (), ())


def test_what_could_not_be_read_costs_itself(cloud: dict[str, list[CloudItem]]) -> None:
    cloud[CLOUD].insert(0, ReadError("server x: not read: no id", CLOUD))
    made = plan()
    assert made.errors == (f"{CLOUD}: server x: not read: no id",)
    assert len(made.steps) == 2


def test_what_this_user_may_not_see_is_said() -> None:
    _Cloud.said[CLOUD] = ("not an admin: only the servers of one project",)
    assert plan().notes == (f"{CLOUD}: not an admin: only the servers of one project",)


def test_one_cloud_under_two_names_is_planned_once(cloud: dict[str, list[CloudItem]]) -> None:
    cloud["openstack:again"] = list(cloud[CLOUD])
    made = plan(Target(CLOUD, "openstack"), Target("openstack:again", "openstack"))
    assert [one.target for one in made.steps] == [CLOUD, CLOUD]


CLASHING = {"hw:vif_multiqueue_enabled": "false"}
OTHER = "openstack:other"


def test_two_clouds_have_images_and_flavors_of_their_own(
    cloud: dict[str, list[CloudItem]],
) -> None:
    """Whoever makes an image or a flavor may choose its id: those of two clouds may be equal."""
    asks = image({"hw_vif_multiqueue_enabled": "true"}, id="5" + ID[1:], name="asks")
    both: list[CloudItem] = [image(), flavor(CLASHING, images=(asks,))]
    cloud[CLOUD] = [server(), *both]
    cloud[OTHER] = [server(id="1" + ID[1:]), *both]
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    found = [(one.target, one.cloud.object) for one in made.steps if one.cloud is not None]
    kinds = ("image", "flavor", "server")
    assert found == [(name, kind) for name in (CLOUD, OTHER) for kind in kinds]
    names = {one.cloud.new_name for one in made.steps if one.cloud and one.cloud.new_name}
    assert names == {"m1.small-vnic"}


def test_what_another_name_of_the_cloud_has_takes_a_name_too(
    cloud: dict[str, list[CloudItem]],
) -> None:
    asks = image({"hw_vif_multiqueue_enabled": "true"}, id="5" + ID[1:], name="asks")
    cloud[CLOUD] = [server(), flavor(id="3", name="m1.big-vnic")]
    cloud[OTHER] = [*cloud[CLOUD], flavor(CLASHING, id="4", name="m1.big", images=(asks,))]
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    assert [(one.nic.domain, one.cloud and one.cloud.new_name) for one in made.steps] == [
        ("web-01", ""),
        ("m1.big", "m1.big-vnic2"),
    ]


def test_a_server_that_comes_twice_is_planned_once(cloud: dict[str, list[CloudItem]]) -> None:
    """One that was made while its cloud is read moves the others to the next page."""
    cloud[CLOUD] = [server(), server()]
    assert len(plan().steps) == 1


@pytest.mark.parametrize("name", ["web-01", ID, "legacy", "m1.small"])
def test_what_is_named_is_there(name: str) -> None:
    made = plan(options=PlanOptions(domains=frozenset({name})))
    assert {one.nic.domain for one in made.steps} <= {"web-01", "legacy"}


def test_what_is_named_must_be_there() -> None:
    with pytest.raises(UsageError, match="no domain of the targets is called 'nope'"):
        plan(options=PlanOptions(domains=frozenset({"nope"})))
    with pytest.raises(UsageError, match="no NIC in the targets has the MAC address"):
        plan(options=PlanOptions(macs=(SECOND,)))


def test_a_definition_tells_what_nova_does_not_say(
    cloud: dict[str, list[CloudItem]], hosts: dict[str, list[Source]]
) -> None:
    """And what would have to be done about it on its host is done in the cloud."""
    bare = {"kept_by": "unseen", "image_state": "volume", "image": None}
    cloud[CLOUD] = [server(port(None), kept={}, config=bare)]
    alone = plan()
    assert (alone.steps, len(alone.left)) == ((), 1)
    hosts[URI] = [live(definition(interface("rtl8139", mac=MAC), uuid=ID, metadata=NOVA))]
    for targets in ((CLOUD, URI), (URI, CLOUD)):
        kinds = {CLOUD: "openstack", URI: "libvirt"}
        made = plan(*(Target(name, kinds[name]) for name in targets))  # type: ignore[arg-type]
        (step,) = made.steps
        assert (step.platform, step.target, step.rules, step.refused) == (
            "openstack", CLOUD, ("VNIC001",), (),
        )  # fmt: skip
        assert made.targets == targets
        assert made.left == ()


def test_other_domains_of_a_host_keep_their_place(hosts: dict[str, list[Source]]) -> None:
    hosts[URI] = [live(definition(interface("e1000"), name="own"))]
    made = plan(Target(URI, "libvirt"), Target(CLOUD, "openstack"))
    assert [one.nic.domain for one in made.steps] == ["own", "legacy", "web-01"]


def test_nova_conf_of_a_node_is_for_its_servers(
    tmp_path: Path, cloud: dict[str, list[CloudItem]]
) -> None:
    """16 vCPUs are too many for the policy, unless max_queues bounds them."""
    large = server(port("virtio"), vcpus=16)
    cloud[CLOUD] = [large]
    options = PlanOptions(policy=PolicyTable(queues="auto"))
    assert plan(options=options).steps == ()
    conf = tmp_path / "nova.conf"
    conf.write_text(
        "[DEFAULT]\nhost = cmp1\ncompute_driver = libvirt.LibvirtDriver\n"
        "[libvirt]\nvirt_type = kvm\nmax_queues = 4\n"
    )
    made = plan(Target(CLOUD, "openstack"), Target(str(conf), "path"), options=options)
    (step,) = made.steps
    assert step.reason == "the policy asks for it; Nova gives one queue pair per vCPU (4)"
    with pytest.raises(UsageError, match="there is no domain in it"):
        plan(Target(str(conf), "path"))  # without a cloud it is of no use here


def test_nova_conf_of_a_host_of_two_clouds_is_of_neither(
    tmp_path: Path, cloud: dict[str, list[CloudItem]]
) -> None:
    large = server(port("virtio"), vcpus=16)
    cloud[CLOUD] = [large]
    cloud[OTHER] = [server(port("virtio"), vcpus=16, id="1" + ID[1:])]
    conf = tmp_path / "nova.conf"
    conf.write_text(
        "[DEFAULT]\nhost = cmp1\ncompute_driver = libvirt.LibvirtDriver\n"
        "[libvirt]\nvirt_type = kvm\nmax_queues = 4\n"
    )
    targets = (Target(CLOUD, "openstack"), Target(OTHER, "openstack"), Target(str(conf), "path"))
    options = PlanOptions(policy=PolicyTable(queues="auto"))
    made = plan(*targets, options=options)
    assert made.steps == ()
    assert made.notes == (
        f"{conf}: not joined with the servers of its host: {OTHER}, {CLOUD} each have a host "
        "called cmp1; give one cloud at a time",
    )
    cloud[OTHER] = [server(port("virtio"), vcpus=16, id="1" + ID[1:], ref={"host": "cmp2"})]
    made = plan(*targets, options=options)
    assert ([one.target for one in made.steps], made.notes) == ([CLOUD], ())


def test_two_clouds_with_a_nic_of_one_address(cloud: dict[str, list[CloudItem]]) -> None:
    """A snapshot that was restored elsewhere: which is meant has to be said."""
    twin = replace(server(name="copy", id="1" + ID[1:]))
    cloud[CLOUD] = [server(), twin]
    with pytest.raises(UsageError, match="is in domain web-01 and in copy: say which"):
        plan(options=PlanOptions(to="vdpa", macs=(MAC,)))
