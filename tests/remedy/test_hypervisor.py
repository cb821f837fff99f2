"""What carrying a plan out asks of platforms is what they offer: the type checker compares them."""

from vnicaudit.cli.wiring.adapters import texts
from vnicaudit.platforms.domain_xml import definitions, source, write
from vnicaudit.platforms.libvirt import control
from vnicaudit.remedy import hypervisor
from vnicaudit.remedy.hypervisor import Texts


def offered(host: control.LibvirtHypervisor, machine: control.LibvirtMachine) -> None:
    """Never called: each line is a question to the type checker."""
    _host: hypervisor.Hypervisor = host
    _machine: hypervisor.Machine = machine


def test_texts_are_read_and_written_by_the_platform() -> None:
    assert texts() == Texts(definitions, definitions, source, write)
