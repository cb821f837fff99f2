"""Small file trees that stand for a host's root directory.

modules.dep and modules.builtin hold lines of Debian 13's (linux-image 6.12.107+deb13-amd64, depmod
of kmod 30); /proc/cpuinfo is written for these tests in the form that Linux prints on x86_64 and
s390x.
"""

from pathlib import Path

from vnicaudit.platforms.host.local import Tree

RELEASE = "6.12.107+deb13-amd64"
MODULES = f"lib/modules/{RELEASE}"
MODULES_DEP = """\
kernel/drivers/vhost/vhost_vdpa.ko.xz: kernel/drivers/vhost/vhost.ko.xz \
kernel/drivers/vhost/vhost_iotlb.ko.xz kernel/drivers/vdpa/vdpa.ko.xz \
kernel/virt/lib/irqbypass.ko.xz
kernel/drivers/vhost/vhost_net.ko.xz: kernel/drivers/net/tun.ko.xz \
kernel/drivers/vhost/vhost.ko.xz kernel/drivers/vhost/vhost_iotlb.ko.xz kernel/drivers/net/tap.ko.xz
kernel/drivers/vhost/vhost.ko.xz: kernel/drivers/vhost/vhost_iotlb.ko.xz
"""
MODULES_DEP_WITHOUT = """\
kernel/drivers/vhost/vhost_vdpa.ko.xz: kernel/drivers/vhost/vhost.ko.xz \
kernel/drivers/vhost/vhost_iotlb.ko.xz kernel/drivers/vdpa/vdpa.ko.xz \
kernel/virt/lib/irqbypass.ko.xz
kernel/drivers/vhost/vhost.ko.xz: kernel/drivers/vhost/vhost_iotlb.ko.xz
"""
MODULES_BUILTIN = """\
kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio_ring.ko
"""
CPUINFO_VMX = "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr pae vmx ssse3 hypervisor lahf_lm\n"
CPUINFO_PLAIN = "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr pae ssse3 hypervisor lahf_lm\n"
CPUINFO_Z = "vendor_id       : IBM/S390\nfeatures\t: esan3 zarch stfle msa ldisp eimm sie\n"


def write(root: Path, files: dict[str, str]) -> str:
    """Make the files below ``root``; returns it as the text that readers take."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def made(root: Path, **interfaces: dict[str, str]) -> Tree:
    """A host with these interfaces: file below /sys/class/net/NAME -> content."""
    for name, files in interfaces.items():
        folder = root / "sys/class/net" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            if file == "master":
                (folder / "master").symlink_to(f"../{text}")
                ports = root / "sys/class/net" / text / "brif"
                ports.mkdir(parents=True, exist_ok=True)
                (ports / name).mkdir()
            else:
                (folder / file).write_text(text)
    return Tree(str(root))


TAP = {"mtu": "9000\n", "tun_flags": "0x5002\n", "master": "br0"}
