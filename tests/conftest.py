"""What all tests share: the fixtures of the rig and of the OpenStack testbed, how hypothesis
searches (in CI the same examples each time, never by time: fuzzing is what looks for new ones), and
which tests are left for ``--long`` (docs/how-to/run-the-tests.md)."""

import os

import pytest
from hypothesis import settings

pytest_plugins = ("tests.openstack.fixtures", "tests.rig.fixtures")

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The long version of the suite."""
    parser.addoption("--long", action="store_true", help="also the tests that are marked long")
    parser.addoption("--none-is-fine", action="store_true", help="succeed where no test is left")


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--long``, tests marked long are deselected, and counted so. Those that need L1 are
    marked so: tests/rig/side_by_side.py has them run beside the others."""
    for item in items:
        if "l1" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.l1)
    if config.getoption("--long"):
        return
    left = [item for item in items if item.get_closest_marker("long")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Of two commands for the same tests, one may find none of its kind."""
    none = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if none and session.config.getoption("--none-is-fine"):
        session.exitstatus = pytest.ExitCode.OK
