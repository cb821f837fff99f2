"""Randomised blocks, and the same ones from the same seed for ever."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.judging.stopping import Slot, blocks, one_by_one, turns

ARMS = ("before", "after")


def test_is_pinned() -> None:
    """A result from years ago says with its seed in which order it was measured."""
    found = [(slot.arm[0], slot.workload) for slot in blocks(ARMS, ("x", "y"), 3, 1234)]
    assert found == [
        ("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"),
        ("b", "x"), ("a", "x"), ("b", "y"), ("a", "y"),
        ("b", "x"), ("a", "x"), ("b", "y"), ("a", "y"),
    ]  # fmt: skip


@given(st.integers(0, 2**64), st.integers(0, 8))
def test_every_block_has_everything_once(seed: int, n: int) -> None:
    slots = blocks(("a", "b", "c"), ("x", "y"), n, seed)
    assert [slot.order for slot in slots] == list(range(6 * n))
    assert [slot.block for slot in slots] == sorted(list(range(n)) * 6)
    assert set(Counter((slot.block, slot.arm, slot.workload) for slot in slots).values()) <= {1}


@given(st.integers(0, 2**32))
def test_fewer_blocks_are_the_beginning_of_more(seed: int) -> None:
    few, many = (blocks(ARMS, ("x", "y", "z"), n, seed) for n in (5, 20))
    assert many[: len(few)] == few


def test_arms_of_a_workload_follow_one_another() -> None:
    slots = blocks(ARMS, ("x", "y", "z"), 4, 7)
    for first, second in zip(slots[::2], slots[1::2], strict=True):
        assert (first.workload, {first.arm, second.arm}) == (second.workload, set(ARMS))


@given(st.integers(0, 2**32))
def test_every_second_run_is_as_often_of_one_arm_as_of_the_other(seed: int) -> None:
    """A neighbour that comes with every second run makes no difference between the arms."""
    slots = blocks(ARMS, ("x", "y", "z"), 8, seed)
    found = Counter((slot.workload, slot.arm) for slot in slots[::2])
    assert set(found.values()) == {4}


def visits(slots: Sequence[Slot], runs: int) -> list[str]:
    """The arm of each turn, in order."""
    return [arm for (arm, _turn), _all in groupby(slots, lambda s: (s.arm, s.block // runs))]


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 4))
def test_in_turns_everything_is_run_as_often(seed: int, n: int, runs: int) -> None:
    slots = turns(ARMS, ("x", "y"), n, seed, runs)
    assert [slot.order for slot in slots] == list(range(4 * n * runs))
    found = Counter((slot.block, slot.arm, slot.workload) for slot in slots)
    assert len(found) == 4 * n * runs
    assert set(found.values()) == {1}
    assert len(visits(slots, runs)) == 2 * n


@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 4))
def test_turns_are_balanced(seed: int, n: int, runs: int) -> None:
    """Each pair of turns is followed by its mirror image: a drift hits both arms alike, and what
    recurs with every second turn."""
    order = visits(turns(ARMS, ("x", "y"), 2 * n, seed, runs), runs)
    assert order[:2] == [*ARMS]
    for begin in range(0, 4 * n, 4):
        assert order[begin : begin + 2] == order[begin + 3 : begin + 1 : -1]
        assert {*order[begin : begin + 2]} == {*ARMS}


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_fewer_turns_are_the_beginning_of_more(seed: int, runs: int) -> None:
    few, many = (turns(ARMS, ("x", "y", "z"), n, seed, runs) for n in (3, 5))
    assert many[: len(few)] == few


def test_chance_decides_which_arm_begins_a_later_pair() -> None:
    first = Counter(visits(turns(ARMS, ("x",), 3, seed), 1)[4] for seed in range(1000))
    assert min(first["before"], first["after"]) > 400


def test_turns_are_pinned() -> None:
    found = [(s.block, s.arm[0], s.workload) for s in turns(ARMS, ("x", "y"), 3, 1234, 2)]
    assert found == [
        (0, "b", "x"), (0, "b", "y"), (1, "b", "y"), (1, "b", "x"),
        (0, "a", "y"), (0, "a", "x"), (1, "a", "x"), (1, "a", "y"),
        (2, "a", "x"), (2, "a", "y"), (3, "a", "x"), (3, "a", "y"),
        (2, "b", "x"), (2, "b", "y"), (3, "b", "y"), (3, "b", "x"),
        (4, "b", "y"), (4, "b", "x"), (5, "b", "y"), (5, "b", "x"),
        (4, "a", "x"), (4, "a", "y"), (5, "a", "y"), (5, "a", "x"),
    ]  # fmt: skip


def test_every_order_is_as_likely() -> None:
    first = Counter(blocks(ARMS, ("x", "y", "z"), 1, seed)[0] for seed in range(3000))
    assert len(first) == 6
    assert min(first.values()) > 400


def test_one_by_one() -> None:
    slots = one_by_one(ARMS, ("x",), 2, 0)
    assert slots == (
        Slot(0, 0, "before", "x"), Slot(1, 1, "before", "x"),
        Slot(0, 2, "after", "x"), Slot(1, 3, "after", "x"),
    )  # fmt: skip


@pytest.mark.parametrize("arms", [(), ("only",)])
def test_few_arms(arms: tuple[str, ...]) -> None:
    assert [slot.arm for slot in blocks(arms, ("x",), 2, 0)] == [*arms] * 2
