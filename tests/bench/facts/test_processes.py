"""Lines of /proc/PID/stat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.facts.recorded import text
from vnicaudit.bench.facts.guest_process import Process, process
from vnicaudit.errors import MeasureError


def test_a_name_may_have_spaces_and_parentheses() -> None:
    assert process(text("proc/parentheses.stat")) == Process(
        12445, "a) R (b 1", spent=0, started=2639509, kernel=False
    )


def test_a_kernel_thread_is_known_by_its_flag() -> None:
    assert process(text("proc/kthreadd.stat")) == Process(2, "kthreadd", 2, 22, kernel=True)


@given(st.text(st.characters(codec="utf-8"), max_size=64), *(st.integers(0, 2**63),) * 3)
def test_whatever_the_name_the_numbers_are_right(
    name: str, user: int, system: int, started: int
) -> None:
    line = (
        f"7 ({name}) S 1 7 7 0 -1 4194304 0 0 0 0 {user} {system} 9 9 20 0 1 0 {started} "
        "2990080 421 18446744073709551615\n"
    )
    assert process(line) == Process(7, name, user + system, started, kernel=False)


@pytest.mark.parametrize("name", ["proc/parentheses.stat", "proc/kthreadd.stat"])
def test_cut_anywhere_it_is_an_error(name: str) -> None:
    line = text(name)
    for length in range(len(line)):
        with pytest.raises(MeasureError):
            process(line[:length])
