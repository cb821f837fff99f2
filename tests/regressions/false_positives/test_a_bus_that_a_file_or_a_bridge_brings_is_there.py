"""Proxmox gives q35 a bridge that is called ``pci.0``, by -readconfig: each of its guests was said
not to start, as the machine had no such bus; with the bridge on the command line, a slot on it was
taken for the same one of ``pcie.0``. What ``-set`` changes was compared as it stood before, and
``-netdev passt`` was said not to know its own keys. Measured with QEMU 7.2; passt by QEMU 10.1's
qapi/net.json."""

from tests.rows import rows
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.read import read_text

PROXMOX = "-M q35 -readconfig /usr/share/qemu-server/pve-q35-4.0.cfg"
BRIDGES = (
    "-M q35 -device i82801b11-bridge,id=pcidmi,bus=pcie.0,addr=1e.0 "
    "-device pci-bridge,id=pci.0,bus=pcidmi,addr=1.0,chassis_nr=1"
)
PASST = "-netdev passt,id=n,mtu=9000,mac=52:54:00:00:00:02 -device virtio-net-pci,netdev=n"


def _refusals(arguments: str) -> list[str]:
    text = f"qemu-system-x86_64 -nodefaults {arguments}\n"
    (qemu,) = read_text(text.encode(), target="line", file=None)
    domain = domain_of(qemu, "line")
    host = HostConfig(assumed=True)
    found = (resolve(nic.declared, domain.declared, host, nic.running) for nic in domain.nics)
    return [one.model.reason for one in found if not one.starts]


@rows
def test_what_starts_is_not_said_not_to(arguments: str) -> None:
    assert _refusals(arguments) == []


@rows
def test_what_does_not_start_is_said_to(arguments: str) -> None:
    assert len(_refusals(arguments)) == 1
