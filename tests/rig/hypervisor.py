"""A real libvirtd on this machine, with a bridge of the rig's own.

Everything made here carries the id of the test process in its name, so that sessions do
not meet, and what a killed session left behind is known and removed by the next one.
"""

import importlib
import json
import os
import re
import shlex
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

from tests.rig import cache
from tests.rig.errors import Missing, RigError
from tests.rig.process import log, require, run, wait_for

URI = "qemu:///system"
QEMU_CONF = Path(__file__).parent / "files/qemu.conf"
# Daemons that the rig starts end by themselves when nobody has used them for this long.
_IDLE_SECONDS = 3600


@dataclass(frozen=True)
class Hypervisor:
    """An open connection, a bridge to put guests on and a folder for their files.

    `addresses` hands out, one by one, those of the bridge's network that guests may have; the
    bridge itself has the first, `gateway`.
    """

    connection: Any
    bridge: str
    prefix: str
    folder: Path
    gateway: str
    addresses: Iterator[IPv4Interface]


@contextmanager
def running_hypervisor() -> Iterator[Hypervisor]:
    """A running libvirtd; when it is left, all domains, the bridge and the files are removed."""
    if os.geteuid():
        raise Missing("libvirt guests with tap devices need root")
    require("ip", "libvirtd", "unshare", "virtlogd")
    connection = _connect()
    own = str(os.getpid())
    with cache.locked("leftovers"):  # another process that begins now sees the same ones
        for process in _leftovers(connection, own):
            log(f"removing what test process {process} left behind")
            _remove(connection, process)
    folder = _session_folder(own)
    folder.mkdir()
    bridge = f"vnab{own}"
    try:
        network = _free_network(os.getpid())
        first, *others = (IPv4Interface((host, network.prefixlen)) for host in network.hosts())
        _add_bridge(bridge, first)
        prefix = f"vnicaudit-{own}-"
        yield Hypervisor(connection, bridge, prefix, folder, str(first.ip), iter(others))
    finally:
        _remove(connection, own)
        connection.close()


def forget(domain: Any) -> None:
    """Stop a domain and remove its definition with all that libvirt keeps of it."""
    libvirt: Any = importlib.import_module("libvirt")
    persistent = domain.isPersistent()
    if domain.isActive():
        domain.destroy()
    if persistent:
        domain.undefineFlags(
            libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
            | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
            | libvirt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
            | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
        )


def _connect() -> Any:
    """A connection to the system's libvirtd, which is started when it does not run."""
    try:
        libvirt: Any = importlib.import_module("libvirt")
    except ImportError as error:
        raise Missing(f"libvirt for Python cannot be imported ({error})") from error
    # libvirt prints every error on stderr unless told otherwise; waiting makes many.
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    with cache.locked("daemons"):
        _start("virtlogd", "/run/libvirt/virtlogd-sock")
        _start("libvirtd", "/run/libvirt/libvirt-sock")
    try:
        connection = libvirt.open(URI)
        # A libvirtd that never ran here asks each QEMU what it can do: that may take longer than
        # any answer a test waits for.
        connection.getCapabilities()
        return connection
    except libvirt.libvirtError as error:
        raise RigError(f"{URI}: {error}") from error


def _start(daemon: str, path: str) -> None:
    """Start a daemon that does not run, with the rig's qemu.conf in place of the machine's.

    Only the daemon sees that file. Without it libvirt's QEMU is not root and cannot open a
    /dev/kvm that root alone can; libvirt's own look at QEMU can. The two never agree, and
    libvirt looks again, for a minute, whenever a guest is started.
    """
    if _listens(path):
        return
    log(f"starting {daemon}")
    place = "mount --bind " + shlex.join([str(QEMU_CONF), "/etc/libvirt/qemu.conf"])
    script = f"{place} && exec {daemon} --daemon --timeout {_IDLE_SECONDS}"
    run("unshare", "--mount", "--propagation", "slave", "sh", "-c", script)
    wait_for(lambda: _listens(path), f"{daemon} listens")


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def _free_network(start: int) -> IPv4Network:
    """A network that this machine has no route to, looked for from the `start`-th one on.

    Sessions start at their process's id, and so do not try the same network at the same time.
    """
    networks = list(IPv4Network("10.64.0.0/10").subnets(new_prefix=24))
    routes = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all"))
    taken = [IPv4Network(route["dst"]) for route in routes if route["dst"] != "default"]
    for number in range(start, start + len(networks)):
        network = networks[number % len(networks)]
        if not any(network.overlaps(other) for other in taken):
            return network
    raise Missing("this machine has routes to all networks in 10.64.0.0/10")


def _add_bridge(name: str, address: IPv4Interface) -> None:
    try:
        run("ip", "link", "add", name, "type", "bridge")
    except RigError as error:
        raise Missing(f"this kernel makes no bridge ({error})") from error
    run("ip", "address", "add", str(address), "dev", name)
    run("ip", "link", "set", name, "up")


def _session_folder(process: str) -> Path:
    return cache.folder() / f"session-{process}"


def _leftovers(connection: Any, own: str) -> set[str]:
    """Ids of test processes that are gone and whose domains, bridges or folders are not.

    What carries the id of this process, which has made nothing yet, is an older one's.
    """
    names = [domain.name() for domain in connection.listAllDomains()]
    names += [path.name for path in Path("/sys/class/net").iterdir()]
    names += [path.name for path in cache.folder().iterdir()]
    owners = (re.match(r"(?:vnicaudit-|vnab|session-)(\d+)\b", name) for name in names)
    found = {owner[1] for owner in owners if owner}
    return {process for process in found if process == own or not Path("/proc", process).exists()}


def _remove(connection: Any, process: str) -> None:
    """Remove all that belongs to one test process; what is gone already is fine."""
    for domain in connection.listAllDomains():
        if domain.name().startswith(f"vnicaudit-{process}-"):
            forget(domain)
    if Path("/sys/class/net", f"vnab{process}").exists():
        run("ip", "link", "delete", f"vnab{process}")
    shutil.rmtree(_session_folder(process), ignore_errors=True)
