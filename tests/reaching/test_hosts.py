"""How hosts are reached over ssh."""

from contextlib import closing
from types import SimpleNamespace
from typing import cast

from vnicaudit.reaching import hosts


def test_keys_may_be_exchanged_slowly() -> None:
    """On an emulated host beside load, a login took up to 14 s; testinfra alone waits 10 s."""
    host = SimpleNamespace(arguments={})
    with closing(hosts.SshConnection(cast(hosts.TestinfraHost, host))):
        assert "-o ConnectTimeout=30 " in host.arguments["ssh_extra_args"]
