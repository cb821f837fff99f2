"""Which files are read: what patterns exclude, and what a named file is spared."""

from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.audit.reading.selection import Changed, Exclusion, Selection
from vnicaudit.audit.reading.targets import walk


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


@rows
def test_patterns(here: Path, pattern: str, excluded: list[str]) -> None:
    del here
    paths = ["lib", "lib/a.xml", "lib/vendor", "lib/vendor/b.xml", "vendor", "vendor/c.xml"]
    exclusion = Exclusion((pattern,))
    assert [path for path in paths if exclusion.has(path)] == excluded


def test_a_pattern_with_a_slash_is_seen_from_its_base(here: Path) -> None:
    exclusion = Exclusion(("a/b",), "top")
    assert exclusion.has("top/a/b")
    assert exclusion.has(str(here / "top/a/b"))
    assert not exclusion.has("a/b")
    assert Exclusion((f"{here}/a/*",), "top").has("a/b")


def test_an_excluded_folder_is_not_entered(here: Path) -> None:
    write(here, "a.xml", "vendor/b.xml", "sub/vendor/c.xml", "sub/d.xml", ".git/e.xml")
    (here / "vendor" / "loop").symlink_to(here / "vendor" / "loop")
    selection = Selection((Exclusion(("vendor",)),))
    assert list(walk(".", selection.leaves_out)) == ["a.xml", "sub/d.xml"]


def test_a_folder_that_is_named_is_entered_whatever_it_is_called(here: Path) -> None:
    write(here, "vendor/b.xml", "vendor/sub/c.xml")
    selection = Selection((Exclusion(("vendor",)),))
    assert list(walk("vendor", selection.leaves_out)) == ["vendor/b.xml", "vendor/sub/c.xml"]


@pytest.mark.parametrize(
    ("path", "forced"),
    [("vendor/b.xml", False), ("vendor/x/y/b.xml", False), ("b.xml", True), ("a/b.xml", True)],
)
def test_a_named_file_is_excluded_by_force_only(here: Path, path: str, forced: bool) -> None:
    write(here, path)
    exclusions = (Exclusion(("vendor",)),)
    assert Selection(exclusions).wants(path, named=True)
    assert Selection(exclusions, force_exclude=True).wants(path, named=True) is forced
    assert Selection(exclusions, force_exclude=True).wants(str(here / path), named=True) is forced


def test_the_folder_of_the_patterns_may_itself_be_called_so(tmp_path: Path) -> None:
    base = tmp_path / "vendor"
    write(base, "b.xml")
    forced = Selection((Exclusion(("vendor",), str(base)),), force_exclude=True)
    assert forced.wants(str(base / "b.xml"), named=True)


def test_only_what_changed_and_what_is_missing_by_name(here: Path) -> None:
    write(here, "a.xml", "b.xml")
    selection = Selection(changed=Changed(str(here), frozenset({str(here / "a.xml")})))
    assert selection.wants("a.xml", named=False)
    assert not selection.wants("b.xml", named=True)
    assert selection.wants("gone.xml", named=True)


def test_a_dead_link_matters_where_its_file_would(here: Path) -> None:
    (here / "old").symlink_to("nowhere")
    (here / "new").symlink_to("nowhere")
    selection = Selection(changed=Changed(str(here), frozenset({str(here / "new")})))
    assert [name for name in ("old", "new", "folder") if selection.minds(name)] == ["new", "folder"]


def test_what_a_run_keeps_is_not_read_in_a_folder(here: Path) -> None:
    """They are definitions, but of no guest: a run restores them."""
    kept = "state/runs/20261127-110056-4c38"
    write(here, "a.xml", f"{kept}/definitions/1.before.xml", f"{kept}/plan.json")
    write(here, "20261127-110056-4c38/b.xml")  # only named so
    found = [path for path in walk(".", Selection().leaves_out) if isinstance(path, str)]
    assert sorted(found) == ["20261127-110056-4c38/b.xml", "a.xml"]
