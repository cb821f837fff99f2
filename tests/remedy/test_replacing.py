"""A file gets new content and keeps the rest: whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from vnicaudit.errors import RefusedError
from vnicaudit.remedy.replacing import replace_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.xml"
    made.write_bytes(b"old")
    return made


def refused(path: Path, words: str, *, backup: bool = False) -> None:
    """The file is not written, for that reason, and nothing is left beside it."""
    before, names = path.read_bytes(), os.listdir(path.parent)
    with pytest.raises(RefusedError, match=words):
        replace_file(str(path), b"old", b"new", backup=backup)
    assert (path.read_bytes(), os.listdir(path.parent)) == (before, names)


def test_content_changes_and_nothing_else(path: Path, tmp_path: Path) -> None:
    path.chmod(0o640)
    replace_file(str(path), b"old", b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.xml"]


@pytest.mark.parametrize("name", ["definitions/1.before.xml", "plan.json"])
def test_what_a_run_keeps_is_not_changed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "state/runs/20261127-110056-4c38" / name
    for folder in (path.parent, path.parent / "definitions"):
        folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"old")
    refused(path, "belongs to a run of vnicaudit")


def test_extended_attributes_stay(path: Path) -> None:
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error.strerror}")
    replace_file(str(path), b"old", b"new")
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"new", b"mine")


def test_a_file_system_without_extended_attributes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def none(_file: object) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(os, "listxattr", none)
    replace_file(str(path), b"old", b"new")
    assert path.read_bytes() == b"new"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "a.xml", tmp_path / "a.xml"
    real.write_bytes(b"old")
    link.symlink_to(real)
    replace_file(str(link), b"old", b"new")
    assert (link.is_symlink(), real.read_bytes()) == (True, b"new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(path: Path) -> None:
    os.chown(path, 1234, 5678)
    path.chmod(0o2755)
    replace_file(str(path), b"old", b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 5678, 0o2755)


def test_a_file_that_changed_meanwhile_is_left(path: Path) -> None:
    path.write_bytes(b"older")
    refused(path, "the file was changed meanwhile")


def test_a_file_with_two_names_is_left(path: Path, tmp_path: Path) -> None:
    os.link(path, tmp_path / "b.xml")
    refused(path, r"the file has 2 names \(hard links\)")


def test_a_read_only_file_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    refused(path, "the file is read-only")


def test_an_owner_that_cannot_be_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat(path)
    other = os.stat_result((real.st_mode, real.st_ino, real.st_dev, 1, 77, 77, 3, 0, 0, 0))
    monkeypatch.setattr(os, "stat", lambda _path, **_how: other)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    refused(path, "owner cannot be preserved: Operation not permitted")


def test_a_full_disk_leaves_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused(path, "cannot be written: No space left on device")


def test_a_file_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be written: No such file or directory"):
        replace_file(str(tmp_path / "a.xml"), b"old", b"new")


def test_what_interrupts_after_the_move_leaves_the_backup(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = os.replace

    def interrupted(part: str, real: str) -> None:
        move(part, real)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_file(str(path), b"old", b"new", backup=True)
    (copy,) = set(os.listdir(tmp_path)) - {"a.xml"}
    assert (path.read_bytes(), (tmp_path / copy).read_bytes()) == (b"new", b"old")


def test_a_move_that_fails_leaves_nothing_beside_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def denied(_part: str, _real: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "replace", denied)
    refused(path, "cannot be written: Operation not permitted", backup=True)
