"""Real libvirtd daemons of the QEMU driver, each a host of its own: unprivileged (``nobody`` where
root runs the tests), with a UUID, folders and a socket of its own. Their domains are never started.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench.endpoints.left import until
from tests.fleet.daemons import started
from tests.not_run import not_run
from vnicaudit.platforms.libvirt.connection import be_silent, libvirt

_CONF = """\
unix_sock_dir = "{folder}/run"
auth_unix_ro = "none"
auth_unix_rw = "none"
host_uuid = "{uuid}"
"""
_DOMAIN = """\
<domain type='qemu'>
  <name>{name}</name><uuid>{uuid}</uuid>
  <metadata><libosinfo:libosinfo xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'>
    <libosinfo:os id='http://debian.org/debian/12'/></libosinfo:libosinfo></metadata>
  <memory>65536</memory><vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
  <devices>
    <interface type='bridge'><mac address='{mac}'/><source bridge='br0'/><model type='e1000'/>
    </interface>
  </devices>
</domain>
"""


class QemuHost(NamedTuple):
    """One host."""

    number: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def uri(self) -> str:
        """How it is reached."""
        return f"qemu+unix:///session?socket={self.folder}/run/libvirt-sock"

    def warm_up(self) -> None:
        """Wait until it knows what the QEMUs here can do; the next daemon finds that in the cache
        that they share."""
        connection = libvirt.open(self.uri)
        try:
            connection.getCapabilities()
            connection.getVersion()
        finally:
            connection.close()

    def models(self) -> dict[str, str]:
        """Domain -> the model of its NIC, by its definition."""
        connection = libvirt.open(self.uri)
        try:
            texts = {one.name(): one.XMLDesc() for one in connection.listAllDomains()}
        finally:
            connection.close()
        return {
            name: text.partition("<model type='")[2].partition("'")[0]
            for name, text in sorted(texts.items())
            if "<interface" in text
        }

    def lock_text(self) -> str:
        """What the lock on it says; empty: there is none."""
        connection = libvirt.open(self.uri)
        try:
            usage = libvirt.VIR_SECRET_USAGE_TYPE_TLS
            return connection.secretLookupByUsage(usage, "vnicaudit-host-lock").XMLDesc()
        except libvirt.libvirtError as error:
            if error.get_error_code() != libvirt.VIR_ERR_NO_SECRET:
                raise
            return ""
        finally:
            connection.close()

    def define(self, domains: int) -> None:
        """Give it so many domains, each with an e1000; they replace those it has."""
        connection = libvirt.open(self.uri)
        try:
            for each in range(domains):
                connection.defineXML(
                    _DOMAIN.format(
                        name=f"h{self.number}-d{each}",
                        uuid=f"00000000-0000-4000-9000-{self.number:06x}{each:06x}",
                        mac=f"52:54:00:00:{self.number:02x}:{each:02x}",
                    )
                )
        finally:
            connection.close()


@contextmanager
def qemu_hosts(hosts: int) -> Iterator[list[QemuHost]]:
    """So many hosts; all of them are removed at the end."""
    program = shutil.which("libvirtd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None or shutil.which("qemu-system-x86_64") is None:
        not_run("tests", "libvirtd or qemu-system-x86_64 is not installed")
    be_silent()
    with ExitStack() as stack:
        cache = stack.enter_context(tempfile.TemporaryDirectory(prefix="vnicaudit-"))
        os.chmod(cache, 0o777)
        yield [stack.enter_context(_host(program, number, cache)) for number in range(hosts)]


@contextmanager
def _host(program: str, number: int, cache: str) -> Iterator[QemuHost]:
    folder = Path(tempfile.mkdtemp(prefix="vnicaudit-"))
    for name in ("run", "home"):
        (folder / name).mkdir()
    (folder / "conf").write_text(_CONF.format(folder=folder, uuid=uuid.uuid4()))
    process = started(program, folder, cache=cache)
    try:
        until(lambda: _accepts(folder / "run" / "libvirt-sock"), "libvirtd listens")
        host = QemuHost(number, folder, process)
        host.warm_up()
        yield host
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _accepts(path: Path) -> bool:
    """Whether somebody listens there: the file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(str(path)) == 0
