"""Clouds among the targets of a plan."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from tests.platforms.stand_ins import platforms_with
from tests.remedy.planning.cloud.clouds import (
    CLOUD,
    ID,
    IMAGE,
    MAC,
    SECOND,
    flavor,
    image,
    port,
    server,
    tenants,
)
from tests.remedy.planning.planned import NOVA, Told, definition, interface, live, requested
from tests.remedy.planning.units import flavor_of
from tests.remedy.works import work
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.targets import Target
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import CloudItem, LiveDefinition, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.openstack import Image
from vnicaudit.model.plan import FlavorUnit, Plan
from vnicaudit.model.report import Audited, ReadError
from vnicaudit.remedy.planning import run
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.source import DomainSource

URI = "qemu+ssh://cmp1/system"


class _Cloud:
    """What stands for reading a cloud: what is in it, by the name of the target."""

    known: ClassVar[dict[str, list[CloudItem]]] = {}
    said: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __init__(self, target: str, live: LiveOptions) -> None:
        assert live.deadline > 0
        self._target = target
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.items = self._items()

    def _items(self) -> Iterator[CloudItem]:
        """All of it; what is to be said of the reading comes when it has ended."""
        yield from self.known[self._target]
        self.notes = self.said.get(self._target, ())


_HOSTS: dict[str, list[DomainSource]] = {}


def _definitions(uri: str, _options: object) -> Iterator[Host | LiveDefinition]:
    yield Host(uri)
    for one in _HOSTS[uri]:
        yield LiveDefinition(one.running, one.domain, one.text, one.host, local=False)


PLATFORMS = platforms_with(cloud=_Cloud, definitions=_definitions)


@pytest.fixture(autouse=True)
def cloud() -> Iterator[dict[str, list[CloudItem]]]:
    """Name of a cloud -> what is in it."""
    _Cloud.known[CLOUD] = [server(), image(), flavor()]
    yield _Cloud.known
    _Cloud.known.clear()
    _Cloud.said.clear()


@pytest.fixture
def hosts() -> Iterator[dict[str, list[DomainSource]]]:
    """URI of a live host -> its domains."""
    yield _HOSTS
    _HOSTS.clear()


def plan(*targets: Target, options: PlanOptions = PlanOptions()) -> Plan:  # noqa: B008
    told = Told()
    names = targets or (Target(CLOUD, "openstack"),)
    made = run.make_plan(
        names,
        PLATFORMS.planners,
        requested(work(PLATFORMS), options=options)._replace(progress=told),
    )
    assert told.targets <= {target.name for target in names}
    return made


def test_images_come_before_servers() -> None:
    made = plan()
    assert made.targets == (CLOUD,)
    assert [(one.id, one.about.name) for one in made.steps] == [("1", "legacy"), ("2", "web-01")]
    assert (made.not_planned, made.errors, made.notes) == ((), (), ())


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
    clashing = flavor(CLASHING, images=(asks,))
    cloud[CLOUD] = [server(), image(), clashing]
    cloud[OTHER] = [server(id="1" + ID[1:]), image(updated="2024-05-02T10:00:00Z"), clashing]
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    found = [(one.target, one.unit.kind) for one in made.steps]
    kinds = ("image", "flavor", "server")
    assert found == [(name, kind) for name in (CLOUD, OTHER) for kind in kinds]
    names = {one.unit.new_name for one in made.steps if isinstance(one.unit, FlavorUnit)}
    assert names == {"m1.small-vnic"}


def test_an_image_of_two_tenants_is_planned_once(cloud: dict[str, list[CloudItem]]) -> None:
    """As it is audited once: nothing but its record says that theirs is one cloud. It is planned
    where it may be changed."""
    owners = tenants(server(id="1" + ID[1:]))
    others = tenants(server(id="2" + ID[1:], ref={"project": "another"}))
    cloud[CLOUD] = [others, image()]
    cloud[OTHER] = [owners, image(servers=0)]
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    found = [(one.target, one.blocked) for one in made.steps if one.about.id == IMAGE]
    assert found == [(OTHER, ())]
    assert made.notes == (
        (
            f"{OTHER}: 1 image is in {CLOUD} too, planned once; this may not be the same cloud, "
            "so flavors are planned for both"
        ),
    )


def test_of_one_cloud_under_two_names_the_better_view_is_planned(
    cloud: dict[str, list[CloudItem]],
) -> None:
    cloud[CLOUD] = [tenants(server(ref={"project": "another"})), image(complete=False)]
    cloud[OTHER] = [server(), image()]
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    assert [(one.target, one.about.id) for one in made.steps] == [(CLOUD, ID), (OTHER, IMAGE)]
    assert made.steps[1].blocked == ()
    assert made.notes == (
        f"{OTHER}: the same cloud as {CLOUD}: 1 server, 1 image are in both, planned once",
    )


def test_what_another_name_of_the_cloud_has_takes_a_name_too(
    cloud: dict[str, list[CloudItem]],
) -> None:
    asks = image({"hw_vif_multiqueue_enabled": "true"}, id="5" + ID[1:], name="asks")
    cloud[CLOUD] = [server(), flavor(id="3", name="m1.big-vnic")]
    cloud[OTHER] = [*cloud[CLOUD], flavor(CLASHING, id="4", name="m1.big", images=(asks,))]
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    assert [one.about.name for one in made.steps] == ["web-01", "m1.big"]
    assert flavor_of(made.steps[1]).new_name == "m1.big-vnic2"


def test_a_server_that_comes_twice_is_planned_once(cloud: dict[str, list[CloudItem]]) -> None:
    """One that was made while its cloud is read moves the others to the next page."""
    cloud[CLOUD] = [server(), server()]
    assert len(plan().steps) == 1


@pytest.mark.parametrize("name", ["web-01", ID, "legacy", "m1.small"])
def test_what_is_named_is_there(name: str) -> None:
    made = plan(options=PlanOptions(domains=frozenset({name})))
    assert {one.about.name for one in made.steps} <= {"web-01", "legacy"}


def test_what_is_named_must_be_there() -> None:
    with pytest.raises(UsageError, match="no domain in the targets has the name 'nope'"):
        plan(options=PlanOptions(domains=frozenset({"nope"})))
    with pytest.raises(UsageError, match="no NIC in the targets has the MAC address"):
        plan(options=PlanOptions(macs=(SECOND,)))


def test_a_definition_tells_what_nova_does_not_say(
    cloud: dict[str, list[CloudItem]], hosts: dict[str, list[DomainSource]]
) -> None:
    """And what would have to be done about it on its host is done in the cloud."""
    bare = {"properties_source": "unseen", "image_state": "volume", "image": None}
    cloud[CLOUD] = [server(port(None), kept={}, config=bare)]
    alone = plan()
    assert (alone.steps, len(alone.not_planned)) == ((), 1)
    hosts[URI] = [live(definition(interface("rtl8139", mac=MAC), uuid=ID, metadata=NOVA))]
    for targets in ((CLOUD, URI), (URI, CLOUD)):
        kinds = {CLOUD: "openstack", URI: "libvirt"}
        made = plan(*(Target(name, kinds[name]) for name in targets))
        (step,) = made.steps
        assert (step.unit.kind, step.target, step.rules, step.refused) == (
            "server", CLOUD, ("VNIC001",), (),
        )  # fmt: skip
        assert made.targets == targets
        assert made.not_planned == ()


def test_other_domains_of_a_host_keep_their_place(hosts: dict[str, list[DomainSource]]) -> None:
    hosts[URI] = [live(definition(interface("e1000"), name="own"))]
    made = plan(Target(URI, "libvirt"), Target(CLOUD, "openstack"))
    assert [one.about.name for one in made.steps] == ["own", "legacy", "web-01"]


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
    with pytest.raises(UsageError, match="it has no domain"):
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
        (
            f"{conf}: not used for the servers of its host, because {OTHER}, {CLOUD} each have "
            "a host named cmp1; name one cloud at a time"
        ),
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


@pytest.mark.parametrize("second", [image(), image(updated="2025-01-01T10:00:00Z")])
def test_an_image_is_one_for_an_audit_where_it_is_one_for_a_plan(
    cloud: dict[str, list[CloudItem]], second: Image
) -> None:
    """Of two projects: the same record, and a copy that was made in another region."""
    mine = tenants(server(id="1" + ID[1:]))
    others = tenants(server(id="2" + ID[1:], ref={"project": "another"}))
    cloud[CLOUD], cloud[OTHER] = [mine, image()], [others, second]
    run_ = AuditRun(work(PLATFORMS), RunOptions(jobs=1))
    products = [one for one in run_.items([CLOUD, OTHER]) if isinstance(one, Audited)]
    audited = {
        one.target for one in products for finding in one.findings
        if finding.about.id == IMAGE
    }  # fmt: skip
    made = plan(Target(CLOUD, "openstack"), Target(OTHER, "openstack"))
    assert {step.target for step in made.steps if step.about.id == IMAGE} == audited
    assert len(audited) == (1 if second == image() else 2)
