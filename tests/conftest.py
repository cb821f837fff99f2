"""What all tests share: the fixtures of the rig and of the OpenStack testbed, how hypothesis
searches (in CI the same examples each time, never by time: elsewhere it looks for new ones),
which tests are left for ``--long`` (docs/how-to/run-the-tests.md), the seeds of what was drawn,
which are printed at the end, and what failed, for the last lines of scripts/test.sh."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings

from tests.failures import noting

DRAWN = "drawn"
"""The property (``record_property``) in which a test notes its seed and how far it came."""

pytest_plugins = ("tests.openstack.fixtures", "tests.rig.fixtures")

_UNHURRIED = [HealthCheck.too_slow]
settings.register_profile("here", deadline=None, suppress_health_check=_UNHURRIED)
settings.register_profile("ci", deadline=None, suppress_health_check=_UNHURRIED, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")


def pytest_configure(config: pytest.Config) -> None:
    """Failures are noted for the last lines of scripts/test.sh. Programs that tests begin hear
    Ctrl-C: in the background of a shell it is ignored, and a child inherits that."""
    noting(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        with suppress(ValueError):  # not the main thread: pytest-xdist may begin in another
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The long version of the suite."""
    parser.addoption("--long", action="store_true", help="also the tests that are marked long")


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--long``, tests marked long are deselected, and counted so. Those that need L1 are
    marked so: they are a suite of their own."""
    for item in items:
        if "l1" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.l1)
    if config.getoption("--long"):
        return
    left = [item for item in items if item.get_closest_marker("long")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture
def without_collection() -> Iterator[None]:
    """No garbage collection, for tests of deadlines: hypothesis has a callback of it, and what a
    signal raises there is lost. The next comes half a second later, after a small test is over."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have drawn, those that passed included."""
    notes = {
        f"{report.nodeid}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, value in report.user_properties
        if name == DRAWN
    }
    if notes:
        terminalreporter.section("drawn at random")
        for note in sorted(notes):
            terminalreporter.write_line(note)
