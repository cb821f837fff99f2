"""Test a connection to libvirt."""

from __future__ import annotations

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import TargetError
from vnicaudit.model.version import Version
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain, open_read_only, plain
from vnicaudit.platforms.libvirt.failures import failure_of
from vnicaudit.text.libvirt_uri import Uri, parse


def probe(uri: str, deadline: float) -> str:
    """The name of the host and the version of its libvirt. Raises TargetError if the connection
    fails or takes longer than ``deadline`` seconds."""
    where = parse(uri)
    try:
        return DaemonCall(f"probe {uri}", lambda: _answer(where)).result(deadline)
    except TimeUpError:
        text = f"no answer within {deadline:g} s"
        raise TargetError(text, file=uri, failure="deadline") from None
    except libvirt.libvirtError as error:
        raise TargetError(explain(error), file=uri, failure=failure_of(error)) from None


def _answer(uri: Uri) -> str:
    connection = open_read_only(uri)
    try:
        version = Version.from_libvirt(connection.getLibVersion())
        return f"{plain(connection.getHostname())}, libvirt {version}"
    finally:
        connection.close()
