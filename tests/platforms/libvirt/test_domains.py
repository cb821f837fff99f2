"""One domain from what libvirt said of it."""

from __future__ import annotations

import msgspec
import pytest

from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.shapes import Shapes
from vnicaudit.platforms.libvirt.domains import (
    Fetched,
    ReadDomain,
    Surroundings,
    domain_from,
    read_fetched,
    read_if_known,
)
from vnicaudit.platforms.libvirt.read import finished
from vnicaudit.text.libvirt_uri import parse

AROUND = Surroundings(parse("qemu:///system"), {}, {})
BROKEN = ReadError(
    "domain 'web': <qemu:arg> not understood: -device: JSON that is cut off or malformed"
)


def _definition(value: str, **attributes: str) -> str:
    given = "".join(f" {name}='{text}'" for name, text in attributes.items())
    return (
        f"<domain type='kvm'{given} xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
        "<name>web</name><devices><interface type='user'><model type='e1000'/></interface>"
        f"</devices><qemu:commandline><qemu:arg value='-device'/><qemu:arg value='{value}'/>"
        "</qemu:commandline></domain>"
    )


CUT = '{"driver":"virtio-net-pci"'
WHOLE = CUT + "}"


@pytest.mark.parametrize(
    ("fetched", "nics"),
    [
        (Fetched(_definition(CUT), DomainState(active=False)), 1),
        (Fetched(_definition(CUT, id="1"), DomainState(active=True)), 1),
        (Fetched(_definition(CUT, id="1"), DomainState(active=True), _definition(CUT)), 1),
        (Fetched(_definition(WHOLE, id="1"), DomainState(active=True), _definition(CUT)), 2),
    ],
    ids=["stopped", "running", "running and persistent", "persistent only"],
)
def test_arguments_that_are_cut_off_cost_themselves(fetched: Fetched, nics: int) -> None:
    """libvirt keeps any text in ``<qemu:arg>``."""
    domain, *errors = finished(read_fetched(fetched, AROUND.uri), AROUND)
    assert isinstance(domain, Domain)
    assert (len(domain.nics), errors) == (nics, [BROKEN])


def test_a_definition_without_problems_has_none() -> None:
    item = read_fetched(Fetched(_definition(WHOLE), DomainState(active=False)), AROUND.uri)
    assert isinstance(item, ReadDomain)
    found = domain_from(item, AROUND)
    assert (len(found.nics), found.unread) == (2, ())


LIVE = (
    "<domain type='kvm' id='1'><name>{0}</name><devices><interface type='bridge'>"
    "<mac address='52:54:00:00:00:01'/><source bridge='br0'/><target dev='vnet{0}'/>"
    "<model type='virtio'/></interface></devices></domain>"
)
KEPT = LIVE.replace(" id='1'", "").replace("<target dev='vnet{0}'/>", "")
OTHER = KEPT.replace("<devices>", "<vcpu>2</vcpu><devices>")
RUNNING = Fetched(LIVE.format(7), DomainState(active=True), KEPT.format(7))


def shapes_of(*texts: str) -> Shapes:
    """Shapes that know these definitions, and are common."""
    shapes = Shapes()
    for text in texts:
        for number in range(8):
            shapes.root(text.format(number))
    assert shapes.are_common
    return shapes


def parsed(fetched: Fetched) -> ReadDomain | ReadError:
    """The domain, read by lxml."""
    return read_fetched(msgspec.structs.replace(fetched, needs_parsing=True), AROUND.uri)


def test_definitions_of_known_shapes_are_read_by_the_thread_that_fetched_them() -> None:
    item = read_if_known(RUNNING, AROUND.uri, shapes_of(LIVE, KEPT))
    assert isinstance(item, ReadDomain)
    assert item.persistent is not None
    assert item == parsed(RUNNING)


@pytest.mark.parametrize(
    "fetched",
    [
        msgspec.structs.replace(RUNNING, persistent=OTHER.format(7)),
        Fetched(OTHER.format(7), DomainState(active=True), KEPT.format(7)),
        Fetched(OTHER.format(7), DomainState(active=False)),
    ],
    ids=["persistent only", "running only", "stopped"],
)
def test_where_one_shape_is_not_known_both_definitions_are_parsed(fetched: Fetched) -> None:
    item = read_if_known(fetched, AROUND.uri, shapes_of(LIVE, KEPT))
    assert isinstance(item, Fetched)
    assert item == msgspec.structs.replace(fetched, needs_parsing=True)
    assert read_fetched(item, AROUND.uri) == parsed(fetched)


def test_where_shapes_are_not_common_none_is_looked_up() -> None:
    assert read_if_known(RUNNING, AROUND.uri, Shapes()) is RUNNING
