"""What all guard rails have in common."""

import pytest

from tests.bench.guards.canned import WAY, ends
from vnicaudit.bench.facts.guards import GUARDS, check


@pytest.mark.parametrize("name", GUARDS)
def test_where_nothing_is_installed_it_is_unknown_and_says_why(name: str) -> None:
    guard = GUARDS[name]
    here = ends()
    rail = check(guard, here, WAY, guard.before(here, WAY))
    assert rail.verdict == "unknown"
    assert "not installed" in rail.detail


@pytest.mark.parametrize("name", GUARDS)
def test_where_nothing_was_kept_it_is_unknown_too(name: str) -> None:
    assert check(GUARDS[name], ends(), WAY, "").verdict == "unknown"


@pytest.mark.parametrize("name", ["addresses", "ping"])
def test_most_find_nothing_wrong_before_the_first_run(name: str) -> None:
    guard = GUARDS[name]
    assert guard.trouble(guard.before(ends(), WAY)) == ""
