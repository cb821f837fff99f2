"""What is said of a whole reading."""

from typing import Any

import pytest

from vnicaudit.model.openstack import NovaVersions
from vnicaudit.platforms.openstack.read import ReadingFacts, notes_of, release


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


def seen(**changes: Any) -> ReadingFacts:
    all_of_it = ReadingFacts(NovaVersions("2.104", 34, 34), True, True, True, True)
    return all_of_it._replace(**changes)


def test_an_admin_who_sees_all_has_nothing_to_be_told() -> None:
    assert len(notes_of(seen())) == 1


def test_properties_that_an_admin_may_have_changed() -> None:
    nova = NovaVersions("2.90", 24, 25)
    note = notes_of(seen(nova=nova, stored_properties=False))[1]
    assert note.endswith(
        "otherwise they are unknown; changes by nova-manage image_property set are not visible"
    )


def test_an_admin_of_nova_alone() -> None:
    assert notes_of(seen(bindings=False))[1] == (
        "shown to an admin, but not to this user: how ports are bound (binding:vif_type)"
    )


def test_what_nothing_tells_is_not_said() -> None:
    nothing = seen(hosts=None, bindings=None, all_projects=None)
    assert len(notes_of(nothing)) == 1


def test_projects_without_a_name() -> None:
    assert notes_of(seen(unnamed=1, names="this user may not"))[1] == (
        "1 project is shown by id: Keystone did not give the name (this user may not)"
    )
    assert notes_of(seen(unnamed=1200))[1] == (
        "1,200 projects are shown by id: Keystone did not give the name (it does not list "
        "them to this user, or they were deleted)"
    )
