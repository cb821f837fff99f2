"""What all tests share: the fixtures of the rig and of the testbeds for OpenStack and Kubernetes,
how hypothesis searches (the same examples each time, half as many without ``--long``, never by
time; new ones with VNICAUDIT_DRAW=1), which tests are left for ``--long``
(docs/how-to/run-the-tests.md), the seeds of what was drawn, which are printed at the end, what
failed, for the last lines of scripts/test.sh, and how tests are collected by several processes."""

import gc
import importlib
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from tests.drawing import DRAWS
from tests.failures import noting

DRAWN = "drawn"
"""The property (``record_property``) in which a test notes its seed and how far it came."""

# jsonschema has grammars of IRIs made when it is imported, for two seconds; no schema here has one
sys.modules["rfc3987_syntax"] = ModuleType("rfc3987_syntax")

pytest_plugins = ("tests.kube.fixtures", "tests.openstack.fixtures", "tests.rig.fixtures")

_UNHURRIED = [HealthCheck.too_slow]
settings.register_profile(
    "long", deadline=None, suppress_health_check=_UNHURRIED,
    derandomize=not DRAWS, print_blob=DRAWS,
)  # fmt: skip
settings.register_profile("gate", settings.get_profile("long"), max_examples=50)
settings.load_profile("gate")


def pytest_configure(config: pytest.Config) -> None:
    """Failures are noted for the last lines of scripts/test.sh. Programs that tests begin hear
    Ctrl-C: in the background of a shell it is ignored, and a child inherits that."""
    noting(config)
    if config.getoption("--long"):
        settings.load_profile("long")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        with suppress(ValueError):  # not the main thread: pytest-xdist may begin in another
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The long version of the suite."""
    parser.addoption("--long", action="store_true", help="also the tests that are marked long")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Tests stay until the end: the garbage collector need not look through them again and
    again."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Of the processes that collect all tests side by side, each first imports a share of them:
    pytest rewrites the assertions of a module once, for all, where each would do all that."""
    worker: dict[str, object] | None = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, workers = int(str(worker["workerid"])[2:]), int(str(worker["workercount"]))
    root = config.rootpath
    for path in sorted(Path(root, "tests").rglob("test_*.py"))[number::workers]:
        with suppress(Exception, pytest.skip.Exception):  # told when it is collected
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


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
