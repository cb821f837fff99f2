"""What projects are called."""

from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import FakeCloud, recorded_error, reply
from tests.platforms.openstack.entering import connect
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.lists import Projects, read_projects

PATH = "/identity/v3/projects"
ADMIN, DEMO = "bdf8e1534c7b48fba40a980a5f599aab", "f324e78b7e724f4499d90957e67b1c2c"


def found(name: str = "admin") -> Projects:
    return read_projects(Client(connect(name, deadline=30)))


@pytest.mark.usefixtures("cloud")
def test_an_admin_is_told_all() -> None:
    projects = found()
    assert (projects.names, projects.reason) == ({ADMIN: "admin", DEMO: "demo"}, "")
    assert (projects.name(DEMO), projects.name("other"), projects.name(None)) == ("demo", "", "")


@pytest.mark.usefixtures("cloud")
def test_a_tenant_knows_his_own_by_the_token() -> None:
    projects = found("demo")
    assert (projects.names, projects.reason) == ({DEMO: "demo"}, "this user may not")


def test_a_role_that_may_list_them_needs_not_be_admin(cloud: FakeCloud) -> None:
    body = {"projects": cloud.admin.projects, "links": {"next": None}}
    cloud.intercept = lambda asked: reply(200, body) if asked.path == PATH else None
    assert found("demo").name(ADMIN) == "admin"


def test_page_by_page(cloud: FakeCloud) -> None:
    cloud.admin.projects = [{"id": f"p{n}", "name": f"name {n}"} for n in range(2500)]
    projects = found()
    assert len(projects.names) == 2501  # and that of the token
    assert projects.name("p2499") == "name 2499"
    assert [asked.query for asked in cloud.asked if asked.path == PATH] == [
        {"limit": "1000"},
        {"limit": "1000", "marker": "p999"},
        {"limit": "1000", "marker": "p1999"},
    ]


def test_a_keystone_that_cuts_its_list_and_has_no_pages(cloud: FakeCloud) -> None:
    body = {"projects": cloud.admin.projects[:1], "links": {"next": None}, "truncated": True}
    cloud.intercept = lambda asked: reply(200, body) if asked.path == PATH else None
    assert (found().names, found().reason) == ({ADMIN: "admin"}, "")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_who_may_not_is_left_with_the_name_in_the_token(cloud: FakeCloud, status: int) -> None:
    answer = recorded_error("projects-forbidden")._replace(status=status)
    cloud.intercept = lambda asked: answer if asked.path == PATH else None
    assert (found().names, found().reason) == ({ADMIN: "admin"}, "this user may not")


def test_a_keystone_that_fails_is_no_error(cloud: FakeCloud) -> None:
    cloud.intercept = lambda asked: reply(500, {}) if asked.path == PATH else None
    projects = found()
    assert projects.names == {ADMIN: "admin"}
    assert projects.reason.startswith(f"identity: GET {cloud.url}{PATH}: 500; the service's log")


def test_absurd_names(cloud: FakeCloud) -> None:
    cloud.admin.projects = [
        {"id": "long", "name": "x" * 9999},
        {"id": "red", "name": "\x1b[31mred\n"},
        {"id": "none", "name": None},
        {"id": 7, "name": "seven"},
    ]
    assert found().names == {ADMIN: "admin", "long": "x" * 400, "red": "[31mred"}


def test_the_address_of_the_login_counts_and_not_the_catalogue(
    cloud: FakeCloud, nowhere: Path
) -> None:
    file = nowhere / "clouds.yaml"
    file.write_text(file.read_text("utf-8").replace("/identity/v3", "/identity"), "utf-8")
    cloud.catalog.remove("identity")
    assert found().name(DEMO) == "demo"
