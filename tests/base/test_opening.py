"""Files are opened without waiting, and read no further than is wanted."""

import os
from pathlib import Path

import pytest

from vnicaudit.base.opening import NotRegularError, as_usage_error, open_regular, read_regular
from vnicaudit.errors import UsageError


def test_a_file_is_read_no_further_than_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_regular(path, 4) == b"0123"
    assert read_regular(path, 400) == b"0123456789"


def test_the_null_device_is_an_empty_file_only_where_that_makes_sense() -> None:
    with open_regular(os.devnull) as stream:
        assert stream.read() == b""
    with pytest.raises(NotRegularError, match="not a regular file"):
        read_regular(os.devnull, 1)


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_nothing_else_is_read_and_no_fifo_is_waited_for(kind: str, tmp_path: Path) -> None:
    path = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = Path("/dev/zero")
    with pytest.raises(NotRegularError, match="not a regular file"):
        open_regular(path)


def test_a_name_with_a_zero_byte_is_no_file() -> None:
    with pytest.raises(OSError, match="not a file name"):
        open_regular("a\0b")


def test_a_file_that_the_user_named_is_his_to_put_right(tmp_path: Path) -> None:
    path, said = tmp_path / "gone.toml", r"gone\.toml: No such file or directory$"
    with pytest.raises(UsageError, match=said), as_usage_error(path):
        read_regular(path, 1)
