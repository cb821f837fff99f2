"""Commands to copy name the cloud and its region."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.audit.clouds import audit_work
from tests.platforms.openstack.conftest import nowhere
from tests.remedy.applying.clouds.conftest import MakeCloud
from tests.remedy.applying.clouds.conftest import make_cloud as make_cloud
from tests.remedy.applying.clouds.fakes import server_step
from tests.remedy.planning.cloud.clouds import MAC, flavor, image, port, server, step, tenants
from tests.remedy.planning.planned import requested
from tests.remedy.works import work as audited
from tests.rows import rows
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import UsageError
from vnicaudit.model.domain import Server
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import PortBinding
from vnicaudit.model.plan import NotPlanned, Step
from vnicaudit.platforms.openstack.config_files import region_of
from vnicaudit.remedy.planning.cloud.items import CloudPlanner
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.text.targets import client

__all__ = ["nowhere"]


# ``openstack --os-cloud prod/RegionTwo server start …``: there is no such cloud, and it was said
# just where a server had been left off.


@rows
def test_a_server_that_was_left_off_is_named_with_its_region(
    make_cloud: MakeCloud, target: str, which: str
) -> None:
    world = make_cloud()
    (server,) = world.servers
    server.boot()
    steps, context = (replace(server_step(server), target=target),), world.context("restart")
    world.interrupt_while_off(server)
    with pytest.raises(KeyboardInterrupt):
        world.apply(steps, context)
    world.elsewhere = True
    (unit,) = world.apply(steps, context).run.steps
    assert f"by hand: openstack{which} server start {server.id} (" in unit.message


@pytest.mark.parametrize("name", ["a/b", "a/b/RegionTwo"])
def test_what_is_wrong_with_a_cloud_that_has_a_slash_in_its_name_is_told(
    name: str, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = nowhere / "clouds.yaml"
    file.write_text("clouds:\n  a/b: [1]\n", "utf-8")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    with pytest.raises(UsageError, match=r"clouds: a/b: is a list, but must be a mapping"):
        region_of(name)


# Commands in plans, refusals and fixes named neither cloud nor region: where somebody has several
# they found no server, or did it to another one's.


TARGET = "openstack:prod/RegionTwo"
CLIENT = "openstack --os-cloud prod --os-region-name RegionTwo"
_ANY = re.compile(r"\bopenstack (?!--os-)[a-z]+ [a-z]+")
STATES = ("PAUSED", "SUSPENDED", "RESCUE", "SHELVED", "VERIFY_RESIZE", "ERROR", "SOFT_DELETED")


def texts(found: Step | NotPlanned) -> Iterator[str]:
    """All that a plan says of one object."""
    if isinstance(found, NotPlanned):
        yield found.reason
        return
    yield from (*(one.text for one in found.blocked), *found.procedure, *found.notes)


def there(domain: Server) -> Server:
    """The server in the region that is asked for."""
    assert domain.cloud is not None
    return replace(domain, cloud=replace(domain.cloud, target=TARGET))


def check(said: str, *, least: int = 1) -> None:
    assert not _ANY.search(said), said
    assert said.count(f"{CLIENT} ") >= least, said


@pytest.mark.parametrize("status", STATES)
def test_a_plan_for_a_server_in_some_state(status: str) -> None:
    for domain in (server(status=status), tenants(server(status=status))):
        check("\n".join(texts(step(there(domain)))))


@rows
def test_a_plan_for_a_server(config: dict[str, Any], ref: dict[str, Any]) -> None:
    check("\n".join(texts(step(there(server(config=config, ref=ref))))))


def test_a_plan_for_a_port_on_vdpa() -> None:
    domain = there(server(port("virtio"), config={"bindings": (PortBinding(),)}))
    options = PlanOptions(to="vdpa", macs=(MAC,))
    check("\n".join(texts(step(domain, options=options))), least=9)


def test_a_plan_for_an_image_of_others_and_for_a_flavor() -> None:
    options = PlanOptions()
    planner = CloudPlanner(requested(audited(), options=options), TARGET)
    wrong = image({"hw_vif_multiqueue_enabled": "true"})
    for item in (
        there(tenants(server())),
        image(owner="somebody"),
        replace(flavor({"hw:vif_multiqueue_enabled": "false"}), images=(wrong,)),
    ):
        planner.add(item)
    said = "\n".join(text for one in planner.plan() for text in texts(one))
    assert "the image belongs to project somebody" in said
    assert "Servers keep their flavor" in said
    check(said, least=4)


@pytest.mark.parametrize("status", ["ACTIVE", "ERROR"])
def test_the_fix_of_a_finding_on_a_server(status: str) -> None:
    domain = there(server(status=status))
    (found,) = (
        DomainAuditor(["VNIC001"], every_platform())
        .audit_domain(domain, HostConfig(), TARGET)
        .findings
    )
    check(found.fix, least=2)


def test_the_fix_of_a_finding_on_an_image() -> None:
    (found,) = audit_work("VNIC062").description(image({"hw_vif_model": "e1000"}), TARGET).findings
    check(found.fix)


@pytest.mark.parametrize("state", ["error", "paused", "shelved", "locked"])
def test_what_a_run_refuses(make_cloud: MakeCloud, state: str) -> None:
    world = make_cloud()
    (found,) = world.servers
    step = replace(server_step(found), target=TARGET)
    if state == "locked":
        found.locked = True
    else:
        found.vm_state = state
    (unit,) = world.apply((step,), world.context("restart")).run.steps
    assert unit.outcome == "refused"
    check(unit.message)


def test_what_a_run_refuses_where_somebody_stopped_a_server(make_cloud: MakeCloud) -> None:
    world = make_cloud()
    (found,) = world.servers
    found.boot()
    step = replace(server_step(found), target=TARGET)
    found.vm_state = "stopped"
    (unit,) = world.apply((step,), world.context("restart")).run.steps
    assert f"then run {CLIENT} server start {found.id} and repeat" in unit.message
    check(unit.message)


def test_nothing_is_named_where_the_environment_says_the_cloud() -> None:
    assert client("openstack:envvars") == "openstack"
    assert client("") == "openstack"
    assert client("openstack:my cloud") == "openstack --os-cloud 'my cloud'"
