"""The state folder: private, in order, one run on a host at a time."""

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from vnicaudit.base.files import make_private, write_private
from vnicaudit.errors import JournalError, RefusedError, UsageError, VnicauditError
from vnicaudit.remedy.applying.journal.state import StateFolder


def modes(folder: Path) -> set[tuple[bool, int]]:
    """Whether a folder, and its mode, of all there is."""
    paths = (folder, *folder.rglob("*"))
    return {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in paths}


def test_nobody_else_may_look_into_it(tmp_path: Path) -> None:
    state = StateFolder(str(tmp_path / "above/state"))
    write_private(state.new() / "definitions/a.before.xml", b"passwd='s3cret'")
    with state.lock("host", "host.example"):
        pass
    assert modes(tmp_path / "above") == {(True, 0o700), (False, 0o600)}


def test_ids_are_in_the_order_of_the_runs(tmp_path: Path) -> None:
    """Many in one second: the newest is taken back first."""
    state = StateFolder(str(tmp_path))
    made = [state.new().name for _ in range(50)]
    assert state.ids() == made
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", name) for name in made)


def test_two_runs_never_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StateFolder(str(tmp_path))
    first = state.new()
    taken = [first.name]
    real = Path.mkdir

    def mkdir(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """The first name that is tried is another run's by now."""
        if taken and self.parent == first.parent:
            self = first.parent / taken.pop()
        real(self, mode, parents, exist_ok)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert state.new() != first
    assert not taken


def test_what_is_no_run_is_passed_over(tmp_path: Path) -> None:
    state = StateFolder(str(tmp_path))
    made = state.new().name
    (tmp_path / "runs/lost+found").mkdir()
    assert state.ids() == [made]
    with pytest.raises(UsageError, match="there is no run 'lost"):
        state.run("lost+found")
    with pytest.raises(UsageError, match=r"there is no run '\.\./\.\.'"):
        state.run("../..")


def test_there_is_no_folder_yet(tmp_path: Path) -> None:
    assert StateFolder(str(tmp_path / "none")).ids() == []
    assert not (tmp_path / "none").exists()


def test_the_second_on_a_host_is_refused(tmp_path: Path) -> None:
    state = StateFolder(str(tmp_path))
    with state.lock("0000-1111", "kvm7"):
        with (
            pytest.raises(RefusedError) as raised,
            StateFolder(str(tmp_path)).lock("0000-1111", "kvm7"),
        ):
            raise AssertionError
        assert str(raised.value) == (
            f"another run is working on kvm7 (process {os.getpid()}): wait for it to end"
        )
        with state.lock("another host", "kvm8"):
            pass
    with state.lock("0000-1111", "kvm7"):
        pass


def test_a_hostile_key_stays_in_the_folder(tmp_path: Path) -> None:
    state = StateFolder(str(tmp_path / "state"))
    with state.lock("../../etc/passwd" + "x" * 300, "kvm7"):
        (lock,) = (tmp_path / "state/locks").iterdir()
    assert lock.name.startswith(".._.._etc_passwd")


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.ENOSPC, JournalError, "cannot be written (No space left on device)"),
        (errno.EDQUOT, JournalError, "cannot be written (Disk quota exceeded)"),
        (errno.EROFS, UsageError, "runs cannot be stored in"),
        (errno.EACCES, UsageError, "choose another folder with --state"),
    ],
)
@pytest.mark.parametrize("held", [False, True], ids=["new", "held"])
def test_where_nothing_can_be_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    kind: type[VnicauditError],
    words: str,
    *,
    held: bool,
) -> None:
    def fails(*_arguments: object, **_named: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", fails)
    state = StateFolder(str(tmp_path / "state"))
    with pytest.raises(kind) as raised:
        state.lock("host", "kvm7").__enter__() if held else state.new()
    assert words in str(raised.value)


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.before.xml"
    write_private(path, b"<domain/>")

    def replace(*_paths: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(JournalError, match=r"a.before.xml cannot be written \(No space left"):
        write_private(path, b"<other/>")
    assert path.read_bytes() == b"<domain/>"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
