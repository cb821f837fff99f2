"""Names of workloads."""

import pytest
from msgspec.structs import replace

from vnicaudit.model.measurement import Workload
from vnicaudit.reports.bench.words.labels import describe, describe_measured

_ONE = Workload(id="w", engine="rr", pattern="rr1c-1x1", direction="both")


@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        ({"options": {"generator": "c"}}, ", 1 connection, generator in C"),
        ({}, ", 1 connection, generator in Python"),
        ({"options": {"generator": "new"}}, ", 1 connection, generator new"),
        ({"connections": 50}, ", 50 connections"),
        ({"rate": 100.0}, ", offered 100 1/s"),
        ({"pattern": "tcp", "direction": "tx"}, ", the target sends, 1 connection"),
        ({"engine": "iperf3", "pattern": "tcp"}, ", both ways, 1 connection"),
    ],
)
def test_what_was_measured_names_its_generator(changes: dict[str, object], ends: str) -> None:
    work = replace(_ONE, **changes)
    assert describe_measured(work).endswith(ends)
    assert "generator" not in describe(work)


def test_which_way_the_path_is_filled() -> None:
    for way, words in (("rx", "towards"), ("tx", "from")):
        work = replace(_ONE, options={"fill": way})
        assert describe(work).endswith(f", while a stream fills the path {words} the target")
