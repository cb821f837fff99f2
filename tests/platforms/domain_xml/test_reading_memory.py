"""What a reader made of an element is found again where it would read the same values."""

from __future__ import annotations

from vnicaudit.platforms.domain_xml.reading_memory import MOST, ReadingMemory
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode

NODE = ShapedNode("a", 1, {"name": 0, "kind": 1, "size": 2, "unread": 3}, None, (), {})


def element(*values: str, node: ShapedNode = NODE) -> ShapedElement:
    """An element with these values."""
    return ShapedElement(node, list(values))


def reader(noted: ShapedElement) -> str:
    """Copies the name, and reads the size of some kinds only."""
    kind = noted.get("kind", "")
    return f"{kind} {noted.get('size')}" if kind == "sized" else kind


def learn(memory: ReadingMemory[str], one: ShapedElement) -> None:
    memory.read(one, reader, {0})


def test_only_the_values_that_were_read_have_to_be_the_same() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    learn(memory, element("vm-1", "plain", "1", "x"))
    assert memory.find(element("vm-2", "plain", "2", "y")) == "plain"
    assert memory.find(element("vm-1", "other", "1", "x")) is None


def test_a_value_that_is_read_later_counts_from_then_on() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    learn(memory, element("vm-1", "plain", "1", "x"))
    learn(memory, element("vm-1", "sized", "1", "x"))
    assert memory.find(element("vm-2", "sized", "1", "y")) == "sized 1"
    assert memory.find(element("vm-2", "sized", "2", "y")) is None
    assert memory.find(element("vm-2", "plain", "1", "y")) is None, "it was found by its kind alone"


def test_another_shape_or_base_is_another_element() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    learn(memory, element("vm-1", "plain", "1", "x"))
    twin = ShapedNode("a", 1, NODE.attributes, None, (), {})
    assert memory.find(element("vm-1", "plain", "1", "x", node=twin)) is None
    assert memory.find(element("vm-1", "plain", "1", "x"), base=6) is None


def test_long_values_are_not_remembered() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    learn(memory, element("vm-1", "x" * 3000, "1", "x"))
    assert memory.find(element("vm-1", "x" * 3000, "1", "x")) is None


def remembered(memory: ReadingMemory[str], number: int) -> int:
    """How many elements of kinds below this number are found."""
    elements = (element("vm", str(kind), "1", "x") for kind in range(number))
    return sum(memory.find(each) is not None for each in elements)


def test_results_are_bounded() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    for number in range(MOST + 100):
        learn(memory, element("vm", str(number), "1", "x"))
        memory.find(element("vm", str(number), "1", "x"))  # so that it does not give up
    assert remembered(memory, MOST + 100) == 100


def test_it_gives_up_where_no_two_are_alike() -> None:
    memory: ReadingMemory[str] = ReadingMemory()
    for number in range(1000):
        learn(memory, element("vm", str(number), "1", "x"))
    assert 0 < remembered(memory, 1000) < 600
