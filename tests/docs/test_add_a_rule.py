"""The rule that the how-to adds is one, passes its cases, and imports what rules may; in a copy of
the checkout, what the how-to has its reader save and generate is enough for the tests it names."""

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import ROOT, Step, blocks, run, steps
from tests.rules.test_manuals import SECTIONS, sections_of
from tests.test_architecture import RULES, foreign
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.judging.rule_files import (
    OutsideRule,
    listed,
    manual_of,
    rule_in,
    shipped_rules,
)
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.rule_cases.cases import cases_in
from vnicaudit.rule_cases.judging import judge
from vnicaudit.rule_cases.running import differences

PAGE = (ROOT / "docs/how-to/add-a-rule.md").read_text("utf-8")
FILES = {
    block.mark.removeprefix("file: "): block.text
    for block in blocks(PAGE)
    if block.mark.startswith("file: ")
}
COMMANDS = [
    step.command
    for block in blocks(PAGE)
    if block.language == "console"
    for step in steps(block.text)
]
GENERATORS = [command for command in COMMANDS if command.startswith("python docs/generate_")]
TESTS = [command for command in COMMANDS if command.startswith("python -m pytest ")]
ID = "VNIC090"
SOURCE = FILES["vnicaudit/rules/vnic090.py"]


@pytest.fixture
def module() -> ModuleType:
    made = ModuleType("vnic090")
    made.__file__ = "vnic090.py"
    exec(SOURCE, made.__dict__)
    return made


def test_it_has_a_manual_with_its_sections(module: ModuleType) -> None:
    assert tuple(sections_of(manual_of(module))) == SECTIONS


def test_it_imports_what_rules_may() -> None:
    assert list(foreign(SOURCE, RULES)) == []


def test_it_passes_its_cases(module: ModuleType, tmp_path: Path) -> None:
    rule = OutsideRule(listed(ID, rule_in(module)), module)
    catalogue = Catalogue(shipped_rules(), outside=[rule])
    file = tmp_path / f"{ID}.yaml"
    file.write_text(FILES[f"tests/rules/{ID}.yaml"], "utf-8")
    cases = cases_in(str(file))
    assert len(cases) == 3
    for case in cases:
        assert (
            list(differences(ID, case, judge(ID, case, every_platform(), catalogue=catalogue)))
            == []
        )


COPIED = ("docs", "pyproject.toml", "templates", "tests", "vnicaudit")
ABOUT_IT = (
    f"-q -p no:cacheprovider -k '({ID} or not VNIC0) and not test_docs and not test_add_a_rule'"
)
"""Leaves out what is only about other rules, and what is slow: running the commands of pages."""
SECONDS = 550
"""For one command: the tests of a checkout without any caches take more than a minute."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the checkout in which the files of the page are saved. In it Python imports the
    copy, however the checkout itself is installed: a ``.pth`` may put that before PYTHONPATH."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy2(ROOT / name, tmp_path)
    first = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
    (tmp_path / "sitecustomize.py").write_text(first, "utf-8")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_the_steps_of_the_page_are_enough(checkout: Path) -> None:
    assert GENERATORS
    assert TESTS
    for command in (*GENERATORS, *(f"{tests} {ABOUT_IT}" for tests in TESTS)):
        code, printed = run(Step(f"PYTHONPATH=. {command}", ""), checkout, SECONDS)
        assert code == 0, f"$ {command}\n{printed}"
