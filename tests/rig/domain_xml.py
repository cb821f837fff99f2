"""Domain XML for the rig's guests: pc, q35 and s390-ccw-virtio."""

from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tests.rig.images import GuestImage


@dataclass(frozen=True)
class Nic:
    """One <interface> on a bridge. `extra` is XML inside it: a <driver>, an <address>."""

    model: str | None = "virtio"
    mac: str | None = None
    extra: str = ""

    def xml(self, bridge: str) -> str:
        """The interface element; without a model or a MAC libvirt chooses them."""
        mac = f"<mac address={quoteattr(self.mac)}/>" if self.mac else ""
        model = f"<model type={quoteattr(self.model)}/>" if self.model else ""
        source = f"<source bridge={quoteattr(bridge)}/>"
        return f"<interface type='bridge'>{mac}{source}{model}{self.extra}</interface>"


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
class Definition:
    """A guest. Without an image it has nothing to boot and stays in its firmware."""

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
  <memory unit='MiB'>{self.memory_mib}</memory>
  <vcpu>{self.vcpus}</vcpu>
  <os><type arch='{self.arch}' machine='{self.machine}'>hvm</type>{self._boot()}</os>
  {x86 if self.arch == "x86_64" else ""}
  <on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot><on_crash>destroy</on_crash>
  <devices>
    {disks}
    {nics}
    {self._console()}
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <memballoon model='none'/>
  </devices>
</domain>
"""

    def _boot(self) -> str:
        if self.image is None:
            return ""
        device = "ttyS0" if self.arch == "x86_64" else "ttysclp0"
        words = f"console={device} quiet mitigations=off {self.command_line}".strip()
        kernel, initrd = self.image.kernel, self.image.initrd
        return f"<kernel>{kernel}</kernel><initrd>{initrd}</initrd><cmdline>{words}</cmdline>"

    def _console(self) -> str:
        if self.console is None:
            return ""
        source = f"<source path={quoteattr(str(self.console))}/>"
        if self.arch == "x86_64":
            return f"<serial type='file'>{source}<target port='0'/></serial>"
        return f"<console type='file'>{source}<target type='sclp' port='0'/></console>"
