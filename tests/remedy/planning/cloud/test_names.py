"""What projects are called in a plan."""

from __future__ import annotations

from tests.remedy.planning.cloud.clouds import WINDOWS, image, left, server, step, steps
from vnicaudit.model.plan import CloudPart


def part(found: CloudPart | None) -> CloudPart:
    assert found is not None
    return found


def test_a_step_has_the_name_of_its_project() -> None:
    assert part(step(server(ref={"project_name": "web team"})).cloud).project_name == "web team"
    assert part(step(server()).cloud).project_name == ""


def test_a_server_that_is_left_has_it_as_well() -> None:
    found = left(server(os_id=WINDOWS, readiness="not-ready", ref={"project_name": "web team"}))
    assert (found.object, found.project_name) == ("server", "web team")


def test_an_image_has_that_of_its_owner() -> None:
    one, other = image(owner_name="images"), image(id="2", owner="another", owner_name="")
    names = [part(found.cloud).project_name for found in steps(one, other)]
    assert names == ["images", ""]


def test_flavors_are_of_no_project() -> None:
    found = steps(server(ref={"project_name": "web team"}), image(owner="another"))
    assert [(part(one.cloud).object, part(one.cloud).project_name) for one in found] == [
        ("image", ""), ("server", "web team"),
    ]  # fmt: skip
