"""A memory that seldom knows an answer is given up, however often it knew one before."""

from __future__ import annotations

import pytest

from vnicaudit.platforms.domain_xml.lookup_budget import MISSES, PER_HIT, LookupBudget
from vnicaudit.platforms.domain_xml.reading_memory import ReadingMemory
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode
from vnicaudit.platforms.domain_xml.shapes import Shapes

HITS = 5000
NODE = ShapedNode("a", 1, {"kind": 0}, None, (), {})


@pytest.mark.parametrize(
    ("hits", "misses"), [(0, MISSES), (1, MISSES + PER_HIT), (HITS, 2 * MISSES)]
)
def test_hits_allow_misses_up_to_a_limit(hits: int, misses: int) -> None:
    budget = LookupBudget()
    budget.spent -= PER_HIT * hits
    for _ in range(misses):
        budget.add_miss()
        assert not budget.is_used_up
    budget.add_miss()
    assert budget.is_used_up


def test_a_reader_whose_elements_have_nothing_in_common_any_more() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    readings = 0

    def reader(noted: ShapedElement) -> str:
        nonlocal readings
        readings += 1
        return noted.get("kind", "")

    memory.read(ShapedElement(NODE, ["alike"]), reader, ())
    for _ in range(HITS):
        assert memory.find(ShapedElement(NODE, ["alike"])) == "alike"
    for number in range(HITS):
        memory.read(ShapedElement(NODE, [str(number)]), reader, ())
    assert readings <= 1 + 2 * MISSES


def test_documents_that_have_nothing_in_common_any_more() -> None:
    shapes = Shapes()
    for _ in range(HITS):
        shapes.root("<domain/>")
    for number in range(2 * MISSES + 1):
        shapes.root(f"<domain><a{number}/></domain>")
    assert not shapes.are_common
    assert shapes.root("<domain/>") is None
