"""How hosts are reached over ssh."""

import tempfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from vnicaudit.reaching import hosts


def test_keys_may_be_exchanged_slowly() -> None:
    """On an emulated host beside load, a login took up to 14 s; testinfra alone waits 10 s."""
    host = SimpleNamespace(arguments={})
    with closing(hosts.SshConnection(cast(hosts.TestinfraHost, host))):
        assert "-o ConnectTimeout=30 " in host.arguments["ssh_extra_args"]


def test_a_second_interrupt_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(hosts, "run_here", interrupt)
    host = SimpleNamespace(arguments={})
    connection = hosts.SshConnection(cast(hosts.TestinfraHost, host))
    with pytest.raises(KeyboardInterrupt):
        connection.close()
    assert list(tmp_path.iterdir()) == []
