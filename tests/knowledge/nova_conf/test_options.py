"""What Nova's releases know: names of releases, and options over time."""

import pytest

from tests.rows import rows
from vnicaudit.knowledge.nova_conf import options
from vnicaudit.knowledge.nova_conf.options import knowledge, release_of, releases


@rows
def test_a_release_is_known_by_its_name_and_by_its_numbers(text: str, name: str) -> None:
    release = release_of(text)
    assert release is not None
    assert release.name == name


@pytest.mark.parametrize(
    "text", ["", "essex", "10", "11", "99", "2024.3", "29.x", "29.0.0.1", "1e1"]
)
def test_what_names_no_release(text: str) -> None:
    assert release_of(text) is None


def test_releases_are_in_order_and_each_has_a_name() -> None:
    numbers = [release.number for release in releases()]
    assert numbers == sorted(set(numbers))
    assert str(releases()[0]) == "Juno (2014.2)"
    assert knowledge().release == releases()[-1]


def test_no_section_with_an_option_that_matters_looks_misspelt() -> None:
    matter, _names = options._asked_for()
    foreign = {section for section, _name in matter} - set(options._every_name().names)
    assert foreign == {"keystone_authtoken"}
    assert not any(options._likely(section, options._sections()) for section in foreign)


def status(section: str, name: str, release: str) -> str:
    found = release_of(release)
    assert found is not None
    return knowledge(found.number).options[section, name].status


@rows
def test_what_a_release_has(section: str, name: str, release: str, expected: str) -> None:
    assert status(section, name, release) == expected


def test_choices_are_those_of_the_release() -> None:
    forms = [knowledge(number).options["libvirt", "virt_type"].form for number in (22, 23)]
    assert [form is not None and form.accepts("xen") for form in forms] == [True, False]
