"""The inventory: what is recognised, and how it is read.

# inventory/1
[mail-01]
uuid = 6f2c3a52-5d0e-4a35-9d15-3f3b1f1f0a01
nic0 = rtl8139 52:54:00:12:34:56 br0
server = 41            where somebody's cloud has it: its id there
engine = yes           where an engine writes it anew for each start
"""

import re
from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.finding import Location, OutsideOwner, PlatformName
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import CloudServer

NAME = PlatformName("example")
BEGINS = b"# inventory/1\n"
ENGINE = OutsideOwner("engine", "the Engine")
PREFIX = "inventory:"
"""Before the path of an inventory that is a target of its own kind, as a live host is."""

_GUEST = re.compile(r"\[([^\]]+)\]")
_OPTION = re.compile(r"(\w+) *= *(.*)")


def _read(content: Content) -> Iterator[Item]:
    guest: list[tuple[int, str, str]] = []
    name, start = "", 0
    for number, line in enumerate(content.data.decode().splitlines(), 1):
        if (section := _GUEST.fullmatch(line)) is not None:
            if name:
                yield _domain(name, start, guest, content)
            name, start, guest = section[1], number, []
        elif (option := _OPTION.fullmatch(line)) is not None:
            guest.append((number, option[1], option[2]))
        elif line.strip() and not line.startswith("#"):
            raise TargetError("neither a guest nor an option", file=content.path, line=number)
    if name:
        yield _domain(name, start, guest, content)


def _domain(name: str, line: int, options: list[tuple[int, str, str]], content: Content) -> Domain:
    own = {option: text for _line, option, text in options}
    rows = [row for row in options if row[1].startswith("nic")]
    place = Location(content.target, content.path, line, name)
    return Domain(
        name,
        DomainConfig(
            type="kvm",
            arch="x86_64",
            machine="q35",
            vcpus=4,
            owner=ENGINE if "engine" in own else OutsideOwner(NAME),
            platform=NAME,
            readiness="ready",
            nics=len(rows),
        ),
        place,
        tuple(_nic(index, *row, place) for index, row in enumerate(rows)),
        uuid=own.get("uuid"),
        cloud=CloudServer(own["server"], name) if "server" in own else None,
    )


def _nic(index: int, line: int, option: str, text: str, guest: Location) -> Nic:
    model, mac, bridge = text.split()
    place = Location(guest.target, guest.file, line, f"{guest.xpath}/{option}")
    return Nic(
        index,
        NicConfig(type="bridge", actual_type="bridge", model=model),
        place,
        mac=mac,
        source=bridge,
        places=(("model", place),),
    )


INVENTORY = FileKind("inventory", "guest", "ini", lambda head: head.startswith(BEGINS), _read)
