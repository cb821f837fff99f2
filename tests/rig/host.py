"""A host that is reached by ssh: Debian with systemd and networkd, on which faults are planted.

It is booted once for a session, from the disk of L1. By hand:

    python -m tests.rig.host        # prints its target, and goes on until Ctrl-C
"""

import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from urllib.parse import quote

from tests.rig.agent import Ran
from tests.rig.domain_xml import Definition, Nic
from tests.rig.errors import RigError
from tests.rig.guests import Guest
from tests.rig.hypervisor import Hypervisor, running_hypervisor
from tests.rig.images import GuestImage, l1_image
from tests.rig.l1 import BOOT_SECONDS, overlay
from tests.rig.process import require, wait_for

MANAGED, UPLINK = "enp1s0", "enp2s0"
"""Its adapters, as udev names them: by the first it is reached, the second is free for faults."""
CPUS = 4
_WORDS = (
    # nested KVM hangs on several CPUs (see l1.py): without this flag it is not loaded
    "clearcpuid=erms,rep_good,smap,svm "
    # an emulated kernel on a busy machine takes its TSC for a slower one: timers fire far too early
    "tsc=unstable clocksource=hpet systemd.default_timeout_start_sec=900 "
    # sshd does not answer while it waits for a login's own systemd, and ssh gives up after 30 s
    "systemd.mask=user@.service"
)
UPLINK_MAC = "52:54:00:ab:0b:02"


@dataclass(frozen=True)
class SshHost:
    """It runs, and is reached with that key by who knows its own."""

    guest: Guest
    address: str
    key: Path
    known_hosts: Path

    @property
    def target(self) -> str:
        """The URL for the product."""
        known, key = quote(str(self.known_hosts)), quote(str(self.key))
        return f"ssh://root@{self.address}?known_hosts={known}&ssh_identity_file={key}"

    def run(self, script: str, *, timeout: float = 300) -> Ran:
        """Run lines of shell there as root, by another way than ssh."""
        return self.guest.run(["sh", "-ec", script], timeout=timeout)

    def restart(self) -> None:
        """Have it end as for a reboot, and boot it again."""
        with suppress(RigError):  # its agent may be gone before it has answered
            self.run("systemctl --no-block reboot")
        self.guest.wait_until_off()
        self.guest.boot(seconds=BOOT_SECONDS)
        wait_for(lambda: _listens(self.address), "sshd answers")


def bring_up(hypervisor: Hypervisor) -> SshHost:
    """The host, once its sshd answers."""
    require("qemu-img", "qemu-system-x86_64", "ssh")
    image = l1_image()
    address = next(hypervisor.addresses)
    guest = Guest(hypervisor, _definition(hypervisor, image, address))
    guest.boot(seconds=BOOT_SECONDS)
    wait_for(lambda: _listens(str(address.ip)), "sshd answers")
    return _reached(hypervisor, image, guest, str(address.ip))


def _definition(hypervisor: Hypervisor, image: GuestImage, address: IPv4Interface) -> Definition:
    name = "host"
    network = f"ip={address.ip}::{hypervisor.gateway}:{address.netmask}::{MANAGED}:none"
    queues = f"<driver name='qemu' queues='{CPUS}' rx_queue_size='1024'/>"
    return Definition(
        name=hypervisor.prefix + name,
        bridge=hypervisor.bridge,
        nics=(Nic(), Nic(mac=UPLINK_MAC, extra=queues)),
        machine="q35",
        vcpus=CPUS,
        memory_mib=1024,
        image=image,
        command_line=f"rig.root=/dev/vda rig.systemd {network} {_WORDS}",
        disks=(overlay(hypervisor, image, name),),
        console=hypervisor.folder / f"{name}.log",
    )


def _reached(hypervisor: Hypervisor, image: GuestImage, guest: Guest, address: str) -> SshHost:
    if image.keys is None:
        raise RigError("the image of hosts has no keys")
    known = hypervisor.folder / "known_hosts"
    known.write_text(f"{address} {(image.keys / 'host.pub').read_text()}")
    return SshHost(guest, address, image.keys / "key", known)


def _listens(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=10) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), running_hypervisor() as own:
        host = bring_up(own)
        print(f"{host.target}\nup in {host.guest.booted_in:.0f} s; Ctrl-C ends it", flush=True)
        signal.pause()
