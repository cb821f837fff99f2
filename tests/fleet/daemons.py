"""A real libvirtd for the test driver's hosts: unprivileged, with folders, sockets and keys of its
own, reached over a UNIX socket, TCP and TLS. Each XML file that it is given is one host.

Run by root it becomes ``nobody``: root's daemon would be the machine's.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench.endpoints.left import listens, until
from tests.not_run import not_run
from tests.ports import free_port

_CONF = """\
listen_tcp = 1
tcp_port = "{tcp}"
listen_tls = 1
tls_port = "{tls}"
listen_addr = "127.0.0.1"
auth_tcp = "none"
auth_tls = "none"
auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_dir = "{folder}/run"
key_file = "{folder}/pki/serverkey.pem"
cert_file = "{folder}/pki/servercert.pem"
ca_file = "{folder}/pki/cacert.pem"
max_clients = 5000
"""
_NOBODY = 65534
_DOMAIN = """\
<domain type='kvm'>
  <name>{name}</name><uuid>{uuid}</uuid><memory>65536</memory><vcpu>2</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><source file='/{name}'/><target dev='vda' bus='virtio'/></disk>
    <interface type='bridge'><mac address='{mac}'/><source bridge='br0'/><model type='{model}'/>
    </interface>
  </devices>
</domain>
"""


class HostsDaemon(NamedTuple):
    """Where it is. ``folder`` has the hosts' files."""

    folder: Path
    tcp_port: int
    tls_port: int
    process: subprocess.Popen[bytes]

    def tcp(self, number: int, port: int | None = None) -> str:
        """The URI of a host over TCP; ``port``: that of a proxy."""
        return f"test+tcp://127.0.0.1:{port or self.tcp_port}{self.file(number)}"

    def tls(self, number: int, *, keys: str = "pki") -> str:
        """The URI of a host over TLS."""
        return (
            f"test+tls://localhost:{self.tls_port}{self.file(number)}?pkipath={self.folder}/{keys}"
        )

    def unix(self, number: int) -> str:
        """The URI of a host over the daemon's socket."""
        return f"test+unix://{self.file(number)}?socket={self.socket}"

    @property
    def socket(self) -> str:
        """The daemon's socket."""
        return f"{self.folder}/run/libvirt-sock"

    def file(self, number: int) -> str:
        """The file of a host."""
        return f"{self.folder}/hosts/h{number}.xml"


def write_host(path: Path, number: int, domains: int, *, mac: str = "") -> None:
    """A host with so many domains, every second of them with an e1000. ``mac``: of the first NIC of
    the first one."""
    found = []
    for each in range(domains):
        uuid = f"00000000-0000-4000-8000-{number:06x}{each:06x}"
        own = (
            mac if mac and not each else f"52:54:{number >> 8:02x}:{number & 255:02x}:00:{each:02x}"
        )
        model = "e1000" if each % 2 else "virtio"
        found.append(_DOMAIN.format(name=f"h{number}-d{each}", uuid=uuid, mac=own, model=model))
    path.write_text(f"<node>{''.join(found)}</node>")


@contextmanager
def hosts_daemon(hosts: int, domains: int = 3) -> Iterator[HostsDaemon]:
    """A running daemon with so many hosts; all of it is removed at the end."""
    program = shutil.which("libvirtd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None or shutil.which("openssl") is None:
        not_run("tests", "libvirtd or openssl is not installed")
    folder = Path(tempfile.mkdtemp(prefix="vnicaudit-"))
    for name in ("run", "home", "hosts", "pki", "stranger"):
        (folder / name).mkdir()
    for number in range(hosts):
        write_host(folder / "hosts" / f"h{number}.xml", number, domains)
    for name in ("pki", "stranger"):
        make_keys(folder / name)
    tcp, tls = free_port(), free_port()
    (folder / "conf").write_text(_CONF.format(folder=folder, tcp=tcp, tls=tls))
    process = started(program, folder, "--listen")
    try:
        until(lambda: listens(tcp) and listens(tls), "libvirtd listens")
        yield HostsDaemon(folder, tcp, tls, process)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def started(program: str, folder: Path, *options: str, cache: str = "") -> subprocess.Popen[bytes]:
    """A libvirtd with all that it has in a folder; ``cache``: one that several share."""
    words = [program, *options, "--config", f"{folder}/conf", "--pid-file", f"{folder}/pid"]
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
        identity = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
        words = [shutil.which("setpriv") or "setpriv", *identity, *words]
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": f"{folder}/run"}
    environment |= dict.fromkeys(names, f"{folder}/home")
    environment |= {"XDG_CACHE_HOME": cache} if cache else {}
    with open(folder / "log", "wb") as log:
        return subprocess.Popen(words, env=environment, stdout=log, stderr=log)


def make_keys(folder: Path) -> None:
    """An authority, and keys of a server and a client that it vouches for."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{folder}/cakey.pem", "-out", f"{folder}/cacert.pem", "-subj", "/CN=ca",
            "-days", "2", "-addext", "keyUsage=keyCertSign")  # fmt: skip
    for name in ("server", "client"):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", f"{folder}/{name}key.pem", "-out", f"{folder}/{name}.csr",
                "-subj", "/CN=localhost")  # fmt: skip
        (folder / "extensions").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", f"{folder}/{name}.csr", "-CA", f"{folder}/cacert.pem",
                "-CAkey", f"{folder}/cakey.pem", "-CAcreateserial", "-days", "2",
                "-out", f"{folder}/{name}cert.pem", "-extfile", f"{folder}/extensions")  # fmt: skip


def openssl(*words: str | Path) -> None:
    """Run OpenSSL."""
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
