"""The partition matrix: which table applies, the class of each CPU, and what its cells say."""

from typing import Any

import msgspec

from tests.rows import rows
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.partitions import TABLES, partition_of, tables_of
from vnicaudit.model.host import Cell
from vnicaudit.model.host_facts import HostFacts


def facts_of(given: dict[str, Any]) -> HostFacts:
    return msgspec.convert(given, HostFacts)


@rows
def test_the_table_that_applies(facts: dict[str, Any], tables: list[str], by: str) -> None:
    names, evidence = tables_of(facts_of(facts))
    assert (list(names), by in evidence) == (tables, True), evidence


@rows
def test_the_class_of_each_cpu(facts: dict[str, Any], classes: dict[str, str]) -> None:
    found: dict[str, list[int]] = {}
    for column in partition_of(facts_of(facts)).columns:
        found.setdefault(column.kind, []).extend(column.cpus)
    assert {kind: as_list(cpus) for kind, cpus in found.items()} == classes


MARKS = {"yes": True, "no": False, "unknown": None}


@rows
def test_a_cell(facts: dict[str, Any], cpu: int, tasks: str, allowed: str, used: str) -> None:
    (column,) = (each for each in partition_of(facts_of(facts)).columns if cpu in each.cpus)
    assert column.cells[tasks] == Cell(MARKS[allowed], MARKS[used])


def test_each_table_of_openshift_has_the_same_rows() -> None:
    kvm, *others = (tuple(TABLES[name]) for name in sorted(TABLES, key=lambda n: n != "plain KVM"))
    assert len(set(others)) == 1
    assert kvm != others[0]


def test_nothing_is_drawn_of_a_host_whose_cpus_are_unknown() -> None:
    found = partition_of(HostFacts())
    assert (found.tables, found.columns) == ((), ())
