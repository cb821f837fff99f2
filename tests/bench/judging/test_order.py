"""Randomised blocks, and the same ones from the same seed for ever."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.judging.order import Slot, blocks, one_by_one

ARMS = ("before", "after")


def test_is_pinned() -> None:
    """A result from years ago says with its seed in which order it was measured."""
    found = [(slot.arm[0], slot.workload) for slot in blocks(ARMS, ("x", "y"), 3, 1234)]
    assert found == [
        ("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"),
        ("b", "x"), ("a", "x"), ("b", "y"), ("a", "y"),
        ("a", "x"), ("b", "x"), ("b", "y"), ("a", "y"),
    ]  # fmt: skip


@given(st.integers(0, 2**64), st.integers(0, 8), st.booleans())
def test_every_block_has_everything_once(seed: int, n: int, arm_by_arm: bool) -> None:
    slots = blocks(("a", "b", "c"), ("x", "y"), n, seed, arm_by_arm=arm_by_arm)
    assert [slot.order for slot in slots] == list(range(6 * n))
    assert [slot.block for slot in slots] == sorted(list(range(n)) * 6)
    assert set(Counter((slot.block, slot.arm, slot.workload) for slot in slots).values()) <= {1}


@given(st.integers(0, 2**32), st.booleans())
def test_fewer_blocks_are_the_beginning_of_more(seed: int, arm_by_arm: bool) -> None:
    few, many = (blocks(ARMS, ("x", "y", "z"), n, seed, arm_by_arm=arm_by_arm) for n in (5, 20))
    assert many[: len(few)] == few


def test_arms_of_a_workload_follow_one_another() -> None:
    slots = blocks(ARMS, ("x", "y", "z"), 4, 7)
    for first, second in zip(slots[::2], slots[1::2], strict=True):
        assert (first.workload, {first.arm, second.arm}) == (second.workload, set(ARMS))


def test_arm_by_arm_changes_as_rarely_as_can_be() -> None:
    for block in range(4):
        slots = [
            s for s in blocks(ARMS, ("x", "y", "z"), 4, 7, arm_by_arm=True) if s.block == block
        ]
        assert len({slot.arm for slot in slots[:3]}) == len({slot.arm for slot in slots[3:]}) == 1


@given(st.integers(0, 2**32), st.integers(2, 20), st.sampled_from(["ab", "abc"]))
def test_arm_by_arm_every_visit_is_a_change(seed: int, n: int, arms: str) -> None:
    """Else what is one boot, or one plug, would count as two."""
    slots = blocks(tuple(arms), ("x", "y"), n, seed, arm_by_arm=True)
    visits = [slot.arm for slot in slots[::2]]
    assert [slot.arm for slot in slots[1::2]] == visits
    assert all(one != other for one, other in pairwise(visits))


def test_arm_by_arm_chance_decides_which_comes_first() -> None:
    first = Counter(blocks(ARMS, ("x",), 2, seed, arm_by_arm=True)[0].arm for seed in range(1000))
    assert min(first["before"], first["after"]) > 400


def test_arm_by_arm_is_pinned() -> None:
    found = [(s.arm[0], s.workload) for s in blocks(ARMS, ("x", "y"), 3, 1234, arm_by_arm=True)]
    assert found == [
        ("b", "y"), ("b", "x"), ("a", "y"), ("a", "x"),
        ("b", "x"), ("b", "y"), ("a", "x"), ("a", "y"),
        ("b", "y"), ("b", "x"), ("a", "x"), ("a", "y"),
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
