"""Compare the resolver with libvirt: for each ``NAME.xml`` with a ``NAME.ARCH-VERSION.args``, the
effective model, queues and rings of every NIC, worked out from the XML alone, against the command
line libvirt builds.

    python -m tests.conformance.compare DIRECTORY

prints each difference and the percentage of command lines that agree; exit code 1 below 100 %.
vhost is not compared: libvirt's own test suite fakes it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.models import model_of_driver
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import Nic, RunningNic
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.qemu.read import read_text

_ARGS = re.compile(
    r"(?P<name>.+?)\.(?P<arch>[a-z0-9_]+)-(?P<version>latest|\d+\.\d+\.\d+)(?P<variant>[+.].+)?\.args"
)
_HOST_ARCH = "x86_64"
"""The architecture of the host libvirt's test suite pretends to run on, by which it completes a
definition that names none; in our own data, the architecture of the host it was made on."""

_RING = 256


class Shape(NamedTuple):
    """What is compared of one NIC. Passthrough has a model and nothing else."""

    model: str | None
    queues: int | None = None
    rx_queue_size: int | None = None
    tx_queue_size: int | None = None


class Pair(NamedTuple):
    """A definition and the command line made of it."""

    xml: Path
    args: Path
    version: Version | None


class Difference(NamedTuple):
    """Where the two disagree: the file, and what each says."""

    args: str
    text: str


def pairs(directory: Path) -> list[Pair]:
    """Every command line with its definition, by name. ``NAME.ARCH-VERSION.abi-update.args`` is
    made of the same definition with libvirt told to update it; its NICs are the same."""
    found = []
    for args in sorted(directory.glob("*.args")):
        match = _ARGS.fullmatch(args.name)
        if match is None:
            continue
        xml = directory / f"{match['name']}.xml"
        if xml.exists():
            text = match["version"]
            found.append(Pair(xml, args, None if text == "latest" else Version.parse(text)))
    return found


def differences(pair: Pair) -> Iterator[Difference]:
    """Each NIC of one pair that the two sides see differently; nothing when they agree."""
    name = pair.args.name
    try:
        (domain,) = read_bytes(pair.xml.read_bytes(), target=str(pair.xml), file=None)
        (qemu,) = read_text(pair.args.read_bytes(), target=str(pair.args), file=None)
    except (TargetError, ValueError) as error:
        yield Difference(name, f"not read: {error}")
        return
    host = HostConfig(arch=_HOST_ARCH, qemu_version=pair.version)
    ours = [_declared(nic, domain, host) for nic in domain.nics]
    theirs = [_running(nic) for nic in qemu.nics]
    for place, (mine, real) in enumerate(_aligned(ours, theirs)):
        if mine != real:
            yield Difference(name, f"NIC {place}: we say {mine}, QEMU gets {real}")


def _aligned(ours: list[Shape], theirs: list[Shape]) -> Iterator[tuple[Shape | None, Shape | None]]:
    """NICs in order; libvirt puts assigned devices after all others."""
    for passthrough in (False, True):
        left = [shape for shape in ours if (shape.model == "vfio-pci") is passthrough]
        right = [shape for shape in theirs if (shape.model == "vfio-pci") is passthrough]
        for place in range(max(len(left), len(right))):
            yield _at(left, place), _at(right, place)


def _at(shapes: list[Shape], place: int) -> Shape | None:
    return shapes[place] if place < len(shapes) else None


def _declared(nic: Nic, domain: Domain, host: HostConfig) -> Shape:
    if nic.declared.type == "hostdev":
        return Shape("vfio-pci")
    found = resolve(nic.declared, domain.declared, host)
    return Shape(
        found.model.effective,
        found.queues.effective,
        found.rx_queue_size.effective,
        found.tx_queue_size.effective,
    )


def _running(nic: RunningNic) -> Shape:
    if nic.backend == "vfio":
        return Shape("vfio-pci")
    return Shape(model_of_driver(nic.driver), nic.queues, nic.rx_queue_size, _tx_ring(nic))


def _tx_ring(nic: RunningNic) -> int | None:
    """What the guest gets of the TX ring that is passed: QEMU cuts it down to the backend's
    maximum (or, from 8.1 on, does not start)."""
    if nic.tx_queue_size is None or nic.backend in ("vhost-user", "vhost-vdpa"):
        return nic.tx_queue_size
    return min(nic.tx_queue_size, _RING)


def main(arguments: list[str]) -> int:
    """Print the comparison of one directory; 1 when anything differs, 2 on wrong usage."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__)
        return 2
    found = pairs(Path(arguments[0]))
    wrong = 0
    for pair in found:
        different = list(differences(pair))
        wrong += bool(different)
        for difference in different:
            print(f"{difference.args}: {difference.text}")
    if not found:
        print("no NAME.xml with NAME.ARCH-VERSION.args here")
        return 2
    agree = len(found) - wrong
    print(f"{agree} of {len(found)} command lines agree: {100 * agree / len(found):.2f} %")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
