"""L1: a guest that is a hypervisor, with real KVM, real vhost and guests (L2) of its own.

L1 runs under emulation whose CPU has virtualisation, so it needs none from this machine.
It must have one virtual CPU: with two, kernels hang when KVM runs in an emulated guest.
"""

import json
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig.agent import Ran
from tests.rig.domain_xml import Definition, Disk, Nic, Pieces
from tests.rig.errors import RigError
from tests.rig.guests import Guest
from tests.rig.hypervisor import Hypervisor
from tests.rig.images import GuestImage, l1_image
from tests.rig.process import log, require, run, wait_for

BRIDGE = "br0"
# Files of L2 guests; a copy of the rig's own modules.
RUN = "/run/l2"
RIG = "/srv/rig"
INBOX_BYTES = 256 * 2**20
# A whole Debian, emulated, beside other guests.
BOOT_SECONDS = 900
_UNWANTED = {".git", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
_FACTS = (Path(__file__).parent / "files/vhost_facts.py").read_text()


def _l2(name: str, accelerator: str, driver: str = "", vcpus: int = 1) -> Definition:
    # The ROM would look for something to boot on the network, all the time.
    nic = Nic(extra=f"{driver}<rom enabled='no'/>")
    return Definition(
        name=name,
        bridge=BRIDGE,
        nics=(nic,),
        accelerator=accelerator,
        vcpus=vcpus,
        memory_mib=128,
        pieces=Pieces(system=None),
    )


# Guests that say one thing about vhost and may do another; none has anything to boot.
L2_GUESTS = (
    _l2("vnicaudit-kvm-default", "kvm"),
    _l2("vnicaudit-kvm-qemu", "kvm", "<driver name='qemu'/>"),
    _l2("vnicaudit-tcg-vhost", "qemu", "<driver name='vhost'/>"),
    _l2("vnicaudit-kvm-queues", "kvm", "<driver name='vhost' queues='2'/>", vcpus=2),
)


@dataclass(frozen=True)
class VhostFacts:
    """What the kernel of L1 says about one QEMU process.

    `netdev` is from its command line, so what it was started with; the files and threads are now's.
    """

    pid: int
    netdev: dict[str, object]
    vhost_files: int
    vhost_threads: tuple[str, ...]
    vdpa_files: int


class L1:
    """A running L1 whose libvirt answers."""

    def __init__(self, guest: Guest, inbox: Path) -> None:
        self.guest = guest
        self._inbox = inbox

    def run(self, argv: Sequence[str], *, timeout: float = 600) -> Ran:
        """Run a program in L1, as root."""
        return self.guest.run(argv, timeout=timeout)

    def put(self, directory: Path, to: str) -> None:
        """Copy what is in a directory of this machine into the directory `to` of L1.

        It travels as a tar archive on L1's second disk, a file that L1 only reads.
        """
        with (
            self._inbox.open("r+b") as inbox,
            tarfile.open(fileobj=inbox, mode="w") as archive,
        ):
            archive.add(directory, ".", filter=_wanted)
        if self._inbox.stat().st_size > INBOX_BYTES:
            raise RigError(f"{directory} is more than the {INBOX_BYTES} bytes L1 can be handed")
        self.run(["mkdir", "-p", to]).output()
        self.run(["blockdev", "--flushbufs", "/dev/vdb"]).output()
        self.run(["tar", "-x", "-f", "/dev/vdb", "-C", to, "--no-same-owner"]).output()

    def write(self, path: str, text: str) -> None:
        """Write a small file in L1."""
        self.run(["sh", "-c", 'printf %s "$1" >"$2"', "sh", text, path]).output()

    def virsh(self, *words: str) -> Ran:
        """Run virsh on L1's libvirt."""
        return self.run(["virsh", "--connect", "qemu:///system", *words])

    def vhost_facts(self, name: str) -> VhostFacts:
        """The facts about the QEMU process of one L2 guest."""
        facts = json.loads(self.run(["python3", "-c", _FACTS, name]).output())
        return VhostFacts(**facts | {"vhost_threads": tuple(facts["vhost_threads"])})


def bring_up(hypervisor: Hypervisor) -> L1:
    """A running L1 with its libvirt; a boot that fails is tried once more."""
    require("qemu-img", "qemu-system-x86_64")
    image = l1_image()
    try:
        return _bring_up(hypervisor, image, "l1")
    except RigError as error:
        log(f"L1 is tried once more, because {error}")
        return _bring_up(hypervisor, image, "l1-again")


def _bring_up(hypervisor: Hypervisor, image: GuestImage, name: str) -> L1:
    inbox = hypervisor.folder / f"{name}-inbox.tar"
    with inbox.open("wb") as file:
        file.truncate(INBOX_BYTES)
    definition = Definition(
        name=hypervisor.prefix + name,
        bridge=hypervisor.bridge,
        machine="q35",
        memory_mib=3072,
        image=image,
        command_line="rig.root=/dev/vda",
        disks=(overlay(hypervisor, image, name), Disk(inbox, "raw", read_only=True)),
        console=hypervisor.folder / f"{name}.log",
    )
    guest = Guest(hypervisor, definition)
    guest.boot(seconds=BOOT_SECONDS, again=False)  # it is made anew, with its disk
    l1 = L1(guest, inbox)
    try:
        _wait_for_libvirt(l1)
    except RigError:
        guest.remove()
        raise
    return l1


def overlay(hypervisor: Hypervisor, image: GuestImage, name: str) -> Disk:
    """A disk that begins as the image's, and keeps what is written to it for the session."""
    path = hypervisor.folder / f"{name}.qcow2"
    run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(image.disk), path)
    return Disk(path, "qcow2")


def _wait_for_libvirt(l1: L1) -> None:
    wait_for(lambda: l1.virsh("list").exit_code == 0, "libvirt of L1 answers", seconds=300)
    l1.run(["mkdir", RUN]).output()
    l1.put(Path(__file__).parent, f"{RIG}/tests/rig")


def start_l2_guests(l1: L1) -> None:
    """Have the guests of L2_GUESTS run. They take a sixth of L1's CPU from then on."""
    for guest in L2_GUESTS:
        l1.write(f"{RUN}/{guest.name}.xml", guest.xml())
        l1.virsh("define", f"{RUN}/{guest.name}.xml").output()
        l1.virsh("start", guest.name).output()


def _wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out version control and caches."""
    return None if Path(entry.name).name in _UNWANTED else entry
