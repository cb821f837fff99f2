"""One domain from what libvirt said of it."""

import pytest

from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.domains import Fetched, Surroundings, domain_from
from vnicaudit.text.targets import parse

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
    domain = domain_from(fetched, AROUND)
    assert isinstance(domain, Domain)
    assert (len(domain.nics), domain.unread) == (nics, (BROKEN,))


def test_a_definition_without_problems_has_none() -> None:
    found = domain_from(Fetched(_definition(WHOLE), DomainState(active=False)), AROUND)
    assert isinstance(found, Domain)
    assert (len(found.nics), found.unread) == (2, ())
