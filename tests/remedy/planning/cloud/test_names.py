"""What projects are called in a plan."""

from tests.remedy.planning.cloud.clouds import WINDOWS, image, left, server, step, steps
from tests.remedy.planning.units import cloud_of


def test_a_step_has_the_name_of_its_project() -> None:
    assert cloud_of(step(server(ref={"project_name": "web team"}))).project_name == "web team"
    assert cloud_of(step(server())).project_name == ""


def test_a_server_that_is_left_has_it_as_well() -> None:
    found = left(server(os_id=WINDOWS, readiness="not-supported", ref={"project_name": "web team"}))
    assert (found.about.kind, found.project_name) == ("server", "web team")


def test_an_image_has_that_of_its_owner() -> None:
    one, other = image(owner_name="images"), image(id="2", owner="another", owner_name="")
    names = [cloud_of(found).project_name for found in steps(one, other)]
    assert names == ["images", ""]


def test_flavors_are_of_no_project() -> None:
    found = steps(server(ref={"project_name": "web team"}), image(owner="another"))
    assert [(cloud_of(one).kind, cloud_of(one).project_name) for one in found] == [
        ("image", ""), ("server", "web team"),
    ]  # fmt: skip
