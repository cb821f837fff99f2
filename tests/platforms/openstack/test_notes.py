"""What is said of a whole reading."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.platforms.openstack.servers import around
from vnicaudit.model.openstack import NovaVersions
from vnicaudit.platforms.openstack.listing import microversions
from vnicaudit.platforms.openstack.lists import Projects
from vnicaudit.platforms.openstack.network import Ports
from vnicaudit.platforms.openstack.read import Uses, notes_of, release


@pytest.mark.parametrize(
    ("nova", "words"),
    [
        (NovaVersions("2.104", 34, 34), "Nova 34 (its API goes to 2.104)"),
        (NovaVersions("2.96", 29, 30), "Nova 29 or 30 (its API goes to 2.96)"),
        (NovaVersions("2.110", 34, None), "Nova newer than 34 (its API goes to 2.110)"),
        (NovaVersions("2.1", None, 11), "Nova 11 or older (its API goes to 2.1)"),
        (NovaVersions(""), "the release of Nova is unknown: its API reports no microversion"),
    ],
)
def test_release(nova: NovaVersions, words: str) -> None:
    assert release(nova) == words


def noted(uses: Uses, *, all_projects: bool | None = True, **changes: Any) -> list[str]:
    """The notes after the first, which names the release, on a cloud without ports."""
    near = around()
    return list(notes_of(replace(near, **changes), uses, all_projects=all_projects))[1:]


def counted(*, hosts: bool | None = True, nics: bool = True, unnamed: int = 0) -> Uses:
    uses = Uses()
    uses.hosts, uses.nics = hosts, nics
    uses.unnamed = {str(number) for number in range(unnamed)}
    return uses


def test_an_admin_who_sees_all_has_nothing_to_be_told() -> None:
    ports = Ports()
    ports.bindings = True
    assert noted(counted(), ports=ports) == []


def test_properties_that_an_admin_may_have_changed() -> None:
    before: dict[str, Any] = {
        "nova": NovaVersions("2.90", 24, 25),
        "microversions": microversions((2, 90)),
    }
    [note] = noted(counted(nics=False), **before)
    assert note.endswith(
        "otherwise they are unknown; changes by nova-manage image_property set are not visible"
    )


def test_an_admin_of_nova_alone() -> None:
    assert noted(counted()) == [
        "shown to an admin, but not to this user: how ports are bound (binding:vif_type)"
    ]


def test_what_nothing_tells_is_not_said() -> None:
    assert noted(counted(hosts=None, nics=False), all_projects=None) == []


def test_projects_without_a_name() -> None:
    projects = Projects({})
    projects.hidden = "this user may not"
    assert noted(counted(nics=False, unnamed=1), projects=projects) == [
        "1 project is shown by id: Keystone did not give the name (this user may not)"
    ]
    assert noted(counted(nics=False, unnamed=1200)) == [
        "1,200 projects are shown by id: Keystone did not give the name (it does not list "
        "them to this user, or they were deleted)"
    ]
