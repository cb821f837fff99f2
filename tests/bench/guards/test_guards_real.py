"""Guard rails with the programs of this machine, over its loopback."""

import shutil
from collections.abc import Iterator

import pytest

from tests.adapters import open_endpoint
from tests.bench.guards.canned import WAY
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.facts.guards import GUARDS


@pytest.fixture
def ends() -> Iterator[Ends]:
    endpoint = open_endpoint("local")
    try:
        yield Ends(endpoint, endpoint, "127.0.0.1")
    finally:
        endpoint.close()


@pytest.mark.parametrize(
    ("name", "program", "detail"),
    [
        ("ping", "ping", "127.0.0.1: 10 of 10 answered, mean "),
        ("path_mtu", "ping", "1500 B: 3 of 3 got through"),
        ("addresses", "ip", "still there: "),
    ],
)
def test_they_hold(ends: Ends, name: str, program: str, detail: str) -> None:
    if shutil.which(program) is None:
        not_run("tests", f"{program} is not installed: see scripts/packages/tests.apt")
    guard = GUARDS[name]
    rail = guard.after(ends, WAY, guard.before(ends, WAY))
    assert rail.verdict == "ok"
    assert rail.detail.startswith(detail)
