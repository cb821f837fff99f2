"""The journal: a line is on disk before anything is done, and a half one counts for nothing."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.errors import JournalError
from vnicaudit.remedy.applying.journal.events import (
    Defining,
    End,
    Replacing,
    Starting,
    Stopping,
    Undoing,
    name_of,
)
from vnicaudit.remedy.applying.journal.journal_file import (
    NAME,
    Entry,
    Journal,
    read_journal,
    seconds_since,
)


def events(folder: Path) -> list[tuple[str, str]]:
    """What the whole lines say: event and unit."""
    return [(name_of(entry.event), entry.unit) for entry in read_journal(folder).entries]


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(Stopping("agent"), "a")
    written = journal.write(End("näher"))
    journal.close()
    first, last = read_journal(tmp_path).entries
    assert (first.event, first.unit) == (Stopping("agent"), "a")
    assert last == written
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_there_is_none_yet(tmp_path: Path) -> None:
    assert events(tmp_path) == []


@given(cut=st.integers(min_value=0))
def test_wherever_it_was_cut_off_whole_lines_stay_and_more_can_be_added(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    with patch("os.fsync"):
        journal = Journal(folder)
        for unit in ("a", "b", "c"):
            journal.write(Undoing("x" * 50, "failed"), unit)
        journal.close()
    path = folder / NAME
    whole = path.read_bytes()
    length = cut % (len(whole) + 1)
    path.write_bytes(whole[:length])
    left = [("undoing", unit) for unit in "abc"[: whole[:length].count(b"\n")]]

    assert events(folder) == left
    with patch("os.fsync"):
        journal = Journal(folder)
        journal.write(End())
        journal.close()
    assert events(folder) == [*left, ("end", "")]


def test_a_line_longer_than_a_block_is_cut_off_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(Replacing(), "a")
    journal.close()
    with (tmp_path / NAME).open("ab") as stream:
        stream.write(b'{"event":"' + b"x" * 200_000)
    Journal(tmp_path).close()
    assert (tmp_path / NAME).read_bytes().count(b"\n") == 1
    assert events(tmp_path) == [("replacing", "a")]


def failing(real: Callable[..., int], number: int) -> Callable[[int, bytes], int]:
    """Writes half of what it is given, then nothing more: a disk that is full. But the second time
    there is room again."""
    calls = iter(range(100))

    def write(descriptor: int, data: bytes) -> int:
        call = next(calls)
        if call == 0:
            return real(descriptor, data[: len(data) // 2])
        if call == 1:
            raise OSError(number, os.strerror(number))
        return real(descriptor, data)

    return write


def test_behind_half_a_line_nothing_is_written_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread's line would be lost behind it, and what it announces would be done."""
    journal = Journal(tmp_path)
    journal.write(Replacing(), "a")
    monkeypatch.setattr(os, "write", failing(os.write, errno.ENOSPC))
    message = (
        f"{tmp_path / NAME} cannot be written (No space left on device): stopped there; run "
        "this again when it can be written"
    )
    for unit in ("a", "b"):
        with pytest.raises(JournalError) as raised:
            journal.write(Defining(), unit)
        assert str(raised.value) == message
    journal.close()
    journal = Journal(tmp_path)
    journal.write(Defining(), "a")
    journal.close()
    assert events(tmp_path) == [("replacing", "a"), ("defining", "a")]


def test_what_cannot_be_synced_counts_as_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)

    def fsync(_descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(JournalError, match=r"cannot be written \(Input/output error\)"):
        journal.write(Defining(), "a")


def test_who_goes_on_behind_the_end_of_the_run_is_stopped(tmp_path: Path) -> None:
    """A thread that an interruption did not wait for; its descriptor may be another file's."""
    journal = Journal(tmp_path)
    journal.close()
    with pytest.raises(JournalError, match="the run was ended"):
        journal.write(Starting(), "a")


def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(JournalError, match=r"journal.jsonl cannot be written \(Is a directory\)"):
        Journal(tmp_path)


UNKNOWN = '{"at":"2026-11-21T10:00:00Z","event":"shelving","unit":"a"}'


@pytest.mark.parametrize("line", ["{}", "no json", '{"at":1,"event":"end"}', "[" * 10_000, UNKNOWN])
def test_a_line_that_is_none_is_named_and_passed_over(tmp_path: Path, line: str) -> None:
    journal = Journal(tmp_path)
    journal.write(Replacing(), "a")
    journal.close()
    with (tmp_path / NAME).open("a") as stream:
        stream.write(line + "\n")
    journal = Journal(tmp_path)
    journal.write(End())
    journal.close()
    text = read_journal(tmp_path)
    assert text.damage == (f"{tmp_path / NAME}:2: damaged: not a line of a journal",)
    assert [entry.event for entry in text.entries] == [Replacing(), End()]


def test_a_line_that_was_taken_out_is_missed(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for unit in ("a", "b", "c"):
        journal.write(Replacing(), unit)
    journal.close()
    first, _second, third = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    (tmp_path / NAME).write_bytes(first + third)
    named = f"{tmp_path / NAME}:2: damaged: expected line 2, found line 3"
    assert read_journal(tmp_path).damage == (named,)
    journal = Journal(tmp_path)
    journal.write(Replacing(), "d")
    journal.close()
    assert read_journal(tmp_path).damage == (named,)  # later lines count it


def test_how_long_ago() -> None:
    now = "2026-11-21T10:00:01.500Z"
    assert seconds_since(Entry("2026-11-21T10:00:00.000Z", Stopping()), now) == 1.5
    assert seconds_since(Entry("2026-11-21T10:00:09.000Z", Stopping()), now) == 0  # set back
