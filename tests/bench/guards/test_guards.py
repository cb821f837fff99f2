"""The folder of guard rails, and what all of them have in common."""

import pytest

from tests.bench.guards.canned import WAY, ends
from vnicaudit.bench.profiles.registry import GUARDS


def test_a_file_in_the_folder_is_one() -> None:
    assert GUARDS.names() == ("addresses", "path_mtu", "ping")


@pytest.mark.parametrize("name", GUARDS.names())
def test_where_nothing_is_installed_it_is_unknown_and_says_why(name: str) -> None:
    guard = GUARDS.load(name)
    here = ends()
    rail = guard.after(here, WAY, guard.before(here, WAY))
    assert (rail.name, rail.arm, rail.verdict) == (name, "new", "unknown")
    assert "not installed" in rail.detail


@pytest.mark.parametrize("name", GUARDS.names())
def test_where_nothing_was_kept_it_is_unknown_too(name: str) -> None:
    assert GUARDS.load(name).after(ends(), WAY, "").verdict == "unknown"


@pytest.mark.parametrize("name", ["addresses", "ping"])
def test_most_find_nothing_wrong_before_the_first_run(name: str) -> None:
    guard = GUARDS.load(name)
    assert guard.trouble(guard.before(ends(), WAY)) == ""
