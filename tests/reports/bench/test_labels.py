"""Names of workloads."""

import pytest
from msgspec.structs import replace

from vnicaudit.model.measurement import Workload
from vnicaudit.reports.bench.labels import describe

_ONE = Workload(id="w", engine="rr", pattern="rr1c-1x1", direction="both")


@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        ({}, ", 1 connection"),
        ({"connections": 50}, ", 50 connections"),
        ({"rate": 100.0}, ", offered 100 1/s"),
        ({"pattern": "tcp", "direction": "tx"}, ", the target sends, 1 connection"),
        ({"engine": "iperf3", "pattern": "tcp"}, ", both ways, 1 connection"),
    ],
)
def test_a_workload_in_words(changes: dict[str, object], ends: str) -> None:
    work = replace(_ONE, **changes)
    assert describe(work).endswith(ends)


def test_which_way_the_path_is_filled() -> None:
    for way, words in (("rx", "towards"), ("tx", "from")):
        work = replace(_ONE, options={"fill": way})
        assert describe(work).endswith(f", while a stream fills the path {words} the target")
