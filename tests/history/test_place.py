"""The place of a history: a file, or a URL that is taken apart before a driver can quote it."""

import os
from pathlib import Path

import pytest

from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.history.place import history_place, prepare_file

SECRET = "S3CRET"


@rows
def test_what_is_named_is_shown_without_its_password(named: str, label: str) -> None:
    assert history_place(named, "state").label == label


@rows
def test_what_is_mistyped_is_refused_and_not_quoted(named: str) -> None:
    """Drivers quoted the password, or the text was taken for the name of a file."""
    with pytest.raises(UsageError) as told:
        history_place(named, "state")
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_a_file_that_others_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    prepare_file(path)
    prepare_file(path)
    path.chmod(mode)
    with pytest.raises(UsageError, match="is writable by everyone"):
        prepare_file(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch(0o600)
    os.chown(path, 12345, 12345)
    with pytest.raises(UsageError, match="belongs to user 12345"):
        prepare_file(path)
