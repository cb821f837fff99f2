"""Domain XML for the rig's guests: pc, q35 and s390-ccw-virtio."""

from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from tests.rig.images import GuestImage

# Kernels leave out what nobody asks of them here, and what is slow under emulation alone: tests of
# ciphers and of random numbers, signatures of modules, memory that is read-only, or zeroed before
# it is used; page tables of five levels, a second clock, and instructions that copy, which are
# emulated byte by byte. A boot takes a fifth less CPU.
_ANYWHERE = (
    "quiet", "mitigations=off", "cryptomgr.notests", "rodata=off", "init_on_alloc=0",
    "initcall_blacklist=jent_mod_init,crypto_kdf108_init,bpf_tcp_ca_kfunc_init,"
    "bpf_dummy_struct_ops_init,load_system_certificate_list",
)  # fmt: skip
QUICK = {
    "x86_64": (
        "console=ttyS0", "no5lvl", "tsc=reliable", "clearcpuid=erms,rep_good,smap", *_ANYWHERE,
    ),
    "s390x": ("console=ttysclp0", *_ANYWHERE),
}  # fmt: skip
"""Architecture -> the kernel's command line of every guest."""
# A system known to drive virtio: guests that say so are *ready*.
DEBIAN_12 = "http://debian.org/debian/12"
# Of the NIC of most guests: those that are the same are booted once (see guests.py).
MAC = "52:54:00:ab:0a:01"
S390X_MAC = "52:54:00:ab:0a:02"
"""That of s390x guests: nobody else has it, which an audit of the host would find."""


@dataclass(frozen=True)
class Nic:
    """One <interface>, on the bridge unless it has another kind and source.

    `extra` is XML inside it: a <driver>, an <address>. `source` is XML too, and may be empty:
    Nic(kind="vdpa", source="<source dev='/dev/vhost-vdpa-0'/>"), Nic(kind="user", source="").
    """

    model: str | None = "virtio"
    mac: str | None = None
    extra: str = ""
    kind: str = "bridge"
    source: str | None = None

    def xml(self, bridge: str) -> str:
        """The interface element; without a model or a MAC libvirt chooses them."""
        mac = f"<mac address={quoteattr(self.mac)}/>" if self.mac else ""
        model = f"<model type={quoteattr(self.model)}/>" if self.model else ""
        source = f"<source bridge={quoteattr(bridge)}/>" if self.source is None else self.source
        return f"<interface type='{self.kind}'>{mac}{source}{model}{self.extra}</interface>"


@dataclass(frozen=True)
class Disk:
    """One virtio disk, vda first."""

    path: Path
    format: str
    read_only: bool = False

    def xml(self, letter: str) -> str:
        """The disk element. Nothing on a rig disk is worth waiting for the real disk."""
        return (
            f"<disk type='file' device='disk'>"
            f"<driver name='qemu' type='{self.format}' cache='unsafe'/>"
            f"<source file={quoteattr(str(self.path))}/><target dev='vd{letter}' bus='virtio'/>"
            f"{'<readonly/>' if self.read_only else ''}</disk>"
        )


@dataclass(frozen=True)
class Manners:
    """How the small guest behaves (see files/guest-init.sh).

    without: drivers it does not have, by module name
    agent:   whether its agent runs; the agent's channel is there all the same
    deaf:    whoever asks it to shut down is not heard
    """

    without: tuple[str, ...] = ()
    agent: bool = True
    deaf: bool = False

    def words(self) -> list[str]:
        """What its kernel's command line says of this."""
        return [
            *([f"rig.without={','.join(self.without)}"] if self.without else []),
            *([] if self.agent else ["rig.noagent"]),
            *(["rig.deaf"] if self.deaf else []),
        ]


@dataclass(frozen=True)
class Pieces:
    """XML that the rig does not need and a test does.

    system:   libosinfo id of the operating system, or None for no word about it
    metadata: what else is in <metadata>: comments, elements of other namespaces
    domain:   elements of <domain>: a <description>, a <memoryBacking>
    devices:  elements of <devices>: a <graphics>
    channel:  whether there is a channel for the guest agent
    """

    system: str | None = DEBIAN_12
    metadata: str = ""
    domain: str = ""
    devices: str = ""
    channel: bool = True

    def metadata_xml(self) -> str:
        """The metadata element, if there is anything to say."""
        about = ""
        if self.system is not None:
            about = (
                "<libosinfo:libosinfo xmlns:libosinfo="
                "'http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
                f"<libosinfo:os id={quoteattr(self.system)}/></libosinfo:libosinfo>"
            )
        inside = about + self.metadata
        return f"<metadata>{inside}</metadata>" if inside else ""

    def channel_xml(self) -> str:
        """The channel element, if there is to be one."""
        target = "<target type='virtio' name='org.qemu.guest_agent.0'/>"
        return f"<channel type='unix'>{target}</channel>" if self.channel else ""


# vDPA by VDUSE, and vhost-user, reach into the guest's memory: QEMU must share it.
SHARED_MEMORY = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"


@dataclass(frozen=True)
class Definition:
    """A guest. Without an image it has nothing to boot and stays in its firmware.

    The small guest gives `address` to its first NIC and answers DNS there.
    """

    name: str
    bridge: str
    nics: tuple[Nic, ...] = (Nic(),)
    arch: str = "x86_64"
    machine: str = "pc"
    accelerator: str = "qemu"
    vcpus: int = 1
    memory_mib: int = 256
    image: GuestImage | None = None
    command_line: str = ""
    address: IPv4Interface | None = None
    gateway: str | None = None
    manners: Manners = Manners()
    pieces: Pieces = Pieces()
    disks: tuple[Disk, ...] = ()
    console: Path | None = None

    def xml(self) -> str:
        """The domain element, ready to define. No <emulator>: libvirt knows its own."""
        nics = "".join(nic.xml(self.bridge) for nic in self.nics)
        disks = "".join(disk.xml("abcd"[place]) for place, disk in enumerate(self.disks))
        # s390x has no ACPI, and its default CPU is the best that TCG can do
        x86 = "<features><acpi/><apic/></features><cpu mode='maximum'/>"
        return f"""\
<domain type='{self.accelerator}'>
  <name>{self.name}</name>
  {self.pieces.metadata_xml()}
  <memory unit='MiB'>{self.memory_mib}</memory>
  <vcpu>{self.vcpus}</vcpu>
  <os><type arch='{self.arch}' machine='{self.machine}'>hvm</type>{self._boot()}</os>
  {x86 if self.arch == "x86_64" else ""}
  <on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot><on_crash>destroy</on_crash>
  {self.pieces.domain}
  <devices>
    {disks}
    {nics}
    {self._console()}
    {self.pieces.channel_xml()}
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <memballoon model='none'/>
    {self.pieces.devices}
  </devices>
</domain>
"""

    def _boot(self) -> str:
        if self.image is None:
            return ""
        kernel, initrd = self.image.kernel, self.image.initrd
        words = escape(" ".join(self._words()))
        return f"<kernel>{kernel}</kernel><initrd>{initrd}</initrd><cmdline>{words}</cmdline>"

    def _words(self) -> list[str]:
        words = [*QUICK[self.arch], *self.command_line.split()]
        if self.address is not None:
            words.append(f"rig.ip={self.address}")
            if self.nics[0].mac:
                words.append(f"rig.mac={self.nics[0].mac}")
        if self.gateway is not None:
            words.append(f"rig.gw={self.gateway}")
        return words + self.manners.words()

    def _console(self) -> str:
        if self.console is None:
            return ""
        source = f"<source path={quoteattr(str(self.console))}/>"
        if self.arch == "x86_64":
            return f"<serial type='file'>{source}<target port='0'/></serial>"
        return f"<console type='file'>{source}<target type='sclp' port='0'/></console>"
