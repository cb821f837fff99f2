"""Words of messages."""

import pytest

from tests.regressions.hostile_input.growth import MOST, ratio
from tests.rows import rows
from vnicaudit.base.wording import disambiguated, plain, shared_folder


@pytest.mark.parametrize(
    ("named", "names"),
    [
        ([("web", "kvm1", "1"), ("db", "kvm1", "2")], ["web", "db"]),
        ([("web", "kvm1", "1"), ("web", "kvm2", "2")], ["web (kvm1)", "web (kvm2)"]),
        ([("web", "kvm1", "1"), ("web", "kvm1", "2")], ["web (1)", "web (2)"]),
        ([("web", "kvm1", "1"), ("web", "kvm1", "1")], ["web", "web"]),
        ([("web", "", "1"), ("web", "a.xml", "1")], ["web", "web (a.xml)"]),
        ([("a.xml", "a.xml"), ("a.xml", "b.xml")], ["a.xml", "a.xml (b.xml)"]),
        (
            [("web", "a.xml", "1"), ("web", "a.xml", "9"), ("web", "b.xml", "1")],
            ["web (a.xml, 1)", "web (a.xml, 9)", "web (b.xml)"],
        ),
        ([], []),
    ],
)
def test_names_are_told_apart(named: list[tuple[str, ...]], names: list[str]) -> None:
    assert disambiguated(named) == names


def test_telling_many_of_one_name_apart_grows_with_their_number() -> None:
    few, many = ([("web", "kvm1", str(each)) for each in range(n)] for n in (300, 2400))
    assert disambiguated(few)[-1] == "web (299)"
    assert ratio(disambiguated, few, many) <= MOST


@rows
def test_the_folder_that_all_are_in(paths: list[str], shared: str) -> None:
    assert shared_folder(paths) == len(shared)


def test_text_from_outside_is_made_plain() -> None:
    assert plain("no\x1b[31m\n way" + "!" * 1000).startswith("no [31m way!!!")
    assert len(plain("x" * 1000)) == 400
