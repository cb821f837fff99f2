"""Every model on every machine and address: started with libvirt 9.0 and QEMU 7.2, and what is said
of it. ``data/models.tsv`` has what the real ones did.

    python -m tests.conformance.models ARCH[,ARCH…] ADDRESS[,ADDRESS…]

measures again, for some architectures and types of address (``-``: none is written), and prints
lines of that file. It needs root and those QEMUs.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.releases import HERE, connection
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.platforms.domain_xml.read import read_bytes

DATA = Path(__file__).parent / "data/models.tsv"
MEASURED = HostConfig(libvirt_version=Version(9), qemu_version=Version(7, 2, 22))

_ENGINE = DomainAuditor(rule_ids(), every_platform())
_MACHINES = {"x86_64": "pc", "s390x": "s390-ccw-virtio", "ppc64": "pseries"}
_ADDRESSES = {
    "-": "",
    "pci": "<address type='pci' domain='0x0000' bus='0x00' slot='0x09' function='0x0'/>",
    "ccw": "<address type='ccw' cssid='0xfe' ssid='0x0' devno='0x0009'/>",
    "mmio": "<address type='virtio-mmio'/>",
    "usb": "<address type='usb' bus='0' port='2'/>",
    "isa": "<address type='isa'/>",
}


class Row(NamedTuple):
    """One line: ``fate`` is ``starts``, ``fails`` (at start) or ``refused`` (when defined)."""

    arch: str
    address: str
    model: str
    fate: str


def rows() -> Iterator[Row]:
    """What was measured."""
    for line in DATA.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            yield Row(*line.split("\t"))


def starts(row: Row) -> bool:
    """Whether it is said that it starts."""
    domain = _read(row)
    return resolve(domain.nics[0].declared, domain.declared, MEASURED).starts


def errors(row: Row) -> set[str]:
    """The rules that say that it does not."""
    audited = _ENGINE.audit_domain(_read(row), MEASURED, "t")
    return {found.rule for found in audited.findings if found.severity == "error"}


def _read(row: Row) -> Domain:
    (domain,) = read_bytes(_domain(row).encode(), target="t", file="f")
    return domain


def _domain(row: Row) -> str:
    arch = "x86_64" if row.arch == "q35" else row.arch
    machine = "q35" if row.arch == "q35" else _MACHINES.get(row.arch, "virt")
    return (
        f"<domain type='qemu'><name>models</name><memory>65536</memory>"
        f"<os><type arch='{arch}' machine='{machine}'>hvm</type></os><devices>"
        f"<emulator>/usr/bin/qemu-system-{arch}</emulator>"
        f"<interface type='user'><model type='{row.model}'/>{_ADDRESSES[row.address]}</interface>"
        "<memballoon model='none'/></devices></domain>"
    )


def measure(opened: Any, row: Row) -> Row:
    """Start it, and stop it."""
    libvirt: Any = importlib.import_module("libvirt")
    text = _domain(row)
    try:
        opened.createXML(text, libvirt.VIR_DOMAIN_START_PAUSED).destroy()
    except libvirt.libvirtError:
        try:
            opened.defineXML(text).undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_NVRAM)
        except libvirt.libvirtError:
            return row._replace(fate="refused")
        return row._replace(fate="fails")
    return row._replace(fate="starts")


def main(arguments: list[str]) -> int:
    """Measure and print."""
    arches, addresses = (argument.split(",") for argument in arguments)
    models = dict.fromkeys(row.model for row in rows())
    with connection(HERE) as opened:
        for arch in arches:
            for address in addresses:
                for model in models:
                    print(*measure(opened, Row(arch, address, model, "")), sep="\t", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
