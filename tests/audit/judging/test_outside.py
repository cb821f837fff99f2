"""Rules from a directory or an installed package: which are taken, and from where none are."""

import os
from pathlib import Path

import msgspec
import pytest

from tests.rows import rows
from vnicaudit.audit.judging.catalogue import RuleOptions, catalogue_with, shipped_catalogue
from vnicaudit.audit.judging.rule_files import refuse_audited
from vnicaudit.errors import UsageError

RULE = '''"""A rule of our own.

More of it.
"""
from __future__ import annotations
from typing import Annotated
from vnicaudit.model.rule import Judges, Judge, Problem, Rule, RuleSettings, adjustable, setting

class Limits(RuleSettings, frozen=True):
    most: Annotated[int, setting("The most.", at_least=1)] = 3

def judges(limits: Limits) -> Judges:
    return (
        Judge("nic", lambda nic: True, lambda nic: [Problem(f"most is {limits.most}")]),
    )

RULE = Rule(name="NAME", severity="low", groups=("acme",), judges=judges(Limits()),
            settings=adjustable(Limits, judges))
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "ours"
    made.mkdir(mode=0o755)
    write(made / "acme001.py")
    return made


def write(path: Path, name: str = "our-own", text: str = RULE) -> Path:
    path.write_text(text.replace("NAME", name), "utf-8")
    path.chmod(0o644)
    return path


def refused(*folders: Path) -> str:
    with pytest.raises(UsageError) as raised:
        catalogue_with(map(str, folders))
    return str(raised.value)


def test_without_any_the_catalogue_is_the_shipped_one() -> None:
    assert catalogue_with(()) is shipped_catalogue()


def test_a_rule_of_a_directory_is_one_like_the_others(folder: Path) -> None:
    catalogue = catalogue_with([str(folder)])
    assert catalogue.ids == (*shipped_catalogue().ids, "ACME001")
    assert catalogue.select(["acme"], ()) == ("ACME001",)
    assert catalogue.select(["our-own"], ()) == ("ACME001",)
    info = catalogue.info("acme001")
    assert (info.id, info.scope, info.summary) == ("ACME001", "nic", "A rule of our own")
    assert [each.name for each in info.settings] == ["most"]
    assert "ACME001" not in shipped_catalogue().ids


def test_it_can_be_set(folder: Path) -> None:
    catalogue = catalogue_with([str(folder)])
    assert catalogue.adjusted({"ACME001": RuleOptions("high", {"most": 5})}).severity("ACME001")
    with pytest.raises(msgspec.ValidationError):
        catalogue.adjusted({"ACME001": RuleOptions(None, {"most": 0})})


@rows
def test_other_files_are_refused(folder: Path, name: str, said: str) -> None:
    path = write(folder / name, "another")
    assert refused(folder).startswith(f"{path}: {said}")


def test_what_begins_with_an_underscore_or_is_a_test_is_passed_over(folder: Path) -> None:
    for name in ("_notes.py", "test_acme.py", "conftest.py"):
        (folder / name).write_text("raise SystemExit", "utf-8")
    assert "ACME001" in catalogue_with([str(folder)]).ids


def test_an_id_is_given_once(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    path = write(other / "ACME001.py", "another")
    assert refused(folder, other) == (
        f"{path}: rule ACME001 already exists, in {folder}/acme001.py"
    )


def test_a_name_is_given_once(folder: Path) -> None:
    path = write(folder / "acme002.py", "our-own")
    assert refused(folder) == f"{path}: name: 'our-own' is already the name of ACME001"
    write(path, "legacy-emulated-nic")
    assert refused(folder) == f"{path}: name: 'legacy-emulated-nic' is already the name of VNIC001"


@rows
def test_a_file_that_is_no_rule_is_an_error_that_names_it(
    folder: Path, text: str, said: str
) -> None:
    path = write(folder / "acme001.py", text=text)
    assert refused(folder).startswith(f"{path}: {said}")


def test_an_empty_or_missing_directory_is_an_error(tmp_path: Path) -> None:
    assert "there is no rule in it" in refused(tmp_path)
    assert "No such file or directory" in refused(tmp_path / "gone")


@pytest.mark.parametrize("what", ["ours", "ours/acme001.py", "."])
def test_nothing_is_loaded_that_everybody_may_write(
    folder: Path, tmp_path: Path, what: str
) -> None:
    place = tmp_path / what
    place.chmod(place.stat().st_mode | 0o002)
    where = folder / "acme001.py" if what.endswith(".py") else place.resolve()
    assert refused(folder) == (
        f"{where}: no rules are loaded from there, because it is writable by everyone"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_nothing_is_loaded_that_is_somebody_elses(folder: Path) -> None:
    os.chown(folder / "acme001.py", 12345, 12345)
    assert "belongs to user 12345" in refused(folder)


def test_no_link_leads_where_others_may_write(folder: Path, tmp_path: Path) -> None:
    """The file is of this user, but everybody may put another one in its place."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (folder / "acme001.py").rename(theirs / "acme001.py")
    (folder / "acme001.py").symlink_to(theirs / "acme001.py")
    assert "ACME001" in catalogue_with([str(folder)]).ids
    theirs.chmod(0o777)
    assert refused(folder).startswith(f"{theirs}: no rules are loaded from there")


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "acme002.py")
    assert "not a regular file" in refused(folder)


def test_what_is_cached_beside_a_file_is_not_taken_for_it(folder: Path) -> None:
    catalogue_with([str(folder)])
    assert not (folder / "__pycache__").exists()


def test_no_rules_are_taken_from_what_is_audited(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    for named in (folder, link):
        with pytest.raises(UsageError, match="which is audited: rules are code"):
            refuse_audited([str(named)], ["qemu:///system", str(tmp_path)])
        with pytest.raises(UsageError, match="which is audited"):
            refuse_audited([str(named)], [str(folder)])
    beside = tmp_path / "ours-too"
    beside.mkdir()
    refuse_audited([str(folder)], [str(beside), "-", "openstack:prod", str(folder / "x.xml")])


def test_nor_from_a_directory_with_a_file_that_is_audited(folder: Path, tmp_path: Path) -> None:
    guest = folder / "guest.xml"
    guest.touch()
    link = tmp_path / "link.xml"
    link.symlink_to(guest)
    for target in (guest, link):
        with pytest.raises(UsageError, match="a file in it is audited: rules are code"):
            refuse_audited([str(folder)], [str(target)])
    beside = tmp_path / "guest.xml"
    beside.touch()
    refuse_audited([str(folder)], [str(beside)])
