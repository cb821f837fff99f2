"""A file gets new content and keeps the rest: whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from vnicaudit.errors import RefusedError
from vnicaudit.remedy.replacing import replace_file


def test_content_changes_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
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
    with pytest.raises(RefusedError, match="belongs to a run of vnicaudit"):
        replace_file(str(path), b"old", b"new")
    assert path.read_bytes() == b"old"


def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error.strerror}")
    replace_file(str(path), b"old", b"new")
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"new", b"mine")


def test_a_file_system_without_extended_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")

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
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
    os.chown(path, 1234, 5678)
    path.chmod(0o2755)
    replace_file(str(path), b"old", b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 5678, 0o2755)


def test_a_file_that_changed_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"older")
    with pytest.raises(RefusedError, match="the file was changed meanwhile"):
        replace_file(str(path), b"old", b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"older", ["a.xml"])


def test_a_file_with_two_names_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
    os.link(path, tmp_path / "b.xml")
    with pytest.raises(RefusedError, match=r"the file has 2 names \(hard links\)"):
        replace_file(str(path), b"old", b"new")
    assert path.read_bytes() == b"old"


def test_a_read_only_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    with pytest.raises(RefusedError, match="the file is read-only"):
        replace_file(str(path), b"old", b"new")
    assert path.read_bytes() == b"old"


def test_an_owner_that_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
    real = os.stat(path)
    other = os.stat_result((real.st_mode, real.st_ino, real.st_dev, 1, 77, 77, 3, 0, 0, 0))
    monkeypatch.setattr(os, "stat", lambda _path, **_how: other)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(RefusedError, match="owner cannot be preserved: Operation not permitted"):
        replace_file(str(path), b"old", b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a.xml"])


def test_a_full_disk_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RefusedError, match="cannot be written: No space left on device"):
        replace_file(str(path), b"old", b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a.xml"])


def test_a_file_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be written: No such file or directory"):
        replace_file(str(tmp_path / "a.xml"), b"old", b"new")


def test_what_interrupts_after_the_move_leaves_the_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")

    def refused(_part: str, _real: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(RefusedError, match="cannot be written: Operation not permitted"):
        replace_file(str(path), b"old", b"new", backup=True)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a.xml"])
