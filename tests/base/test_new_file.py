"""Files that are replaced by new ones, and what must never be replaced."""

import os
from pathlib import Path

import pytest

from vnicaudit.base import files
from vnicaudit.base.files import open_descriptor, replaced


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("folder", ["/proc/self/fd", "/dev/fd"])
def test_an_open_file_is_written_to_and_no_link_to_it_replaced(
    tmp_path: Path, links: int, folder: str
) -> None:
    """As `/dev/stdout` is such a link, and standard output may be a file."""
    report = tmp_path / "report.txt"
    descriptor = os.open(report, os.O_WRONLY | os.O_CREAT)
    place = tmp_path / "stdout"
    place.symlink_to(f"{folder}/{descriptor}")
    if links == 2:
        (tmp_path / "other").symlink_to("stdout")
    try:
        with replaced(str(tmp_path / "other" if links == 2 else place)) as stream:
            stream.write(b"one\n")
        os.write(descriptor, b"two\n")  # it is still open
    finally:
        os.close(descriptor)
    assert place.is_symlink()
    assert report.read_text() == "one\ntwo\n"


def test_a_fifo_is_written_to_while_somebody_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for for ever."""
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    monkeypatch.setattr(files, "READER_PATIENCE", 0)
    with pytest.raises(OSError, match="a FIFO that nobody reads"), replaced(fifo):
        pass
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with replaced(fifo) as stream:
        assert os.get_blocking(stream.fileno())
        stream.write(b"one\n")
    assert os.read(reader, 9) == b"one\n"
    os.close(reader)


@pytest.mark.parametrize("descriptors", ["/proc/self/fd", "/no/proc"])
def test_a_file_is_there_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, descriptors: str
) -> None:
    """Where a file may be without a name, and where not."""
    monkeypatch.setattr(files, "_DESCRIPTORS", descriptors)
    place = tmp_path / "report"
    for text in (b"one\n", b"two\n"):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(ValueError, match="invalid literal"), replaced(str(place)) as stream:
            stream.write(bytes(int("wrong")))
        assert sorted(tmp_path.iterdir()) == before
        with replaced(str(place)) as stream:
            stream.write(text)
        assert place.read_bytes() == text
    assert list(tmp_path.iterdir()) == [place]


def test_other_places_are_no_open_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "1").write_text("x")
    names = ("file", "link", "circle", "missing", "1")
    found = [open_descriptor(str(tmp_path / name)) for name in names]
    assert found == [None] * len(names)
    assert open_descriptor("/dev/null") is None
    assert open_descriptor(f"/proc/{os.getppid()}/fd/1") is None
