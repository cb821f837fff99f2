"""What carrying a plan out asks of platforms is what they offer: the type checker compares them."""

from vnicaudit.platforms.libvirt import control
from vnicaudit.remedy import hypervisor


def offered(host: control.LibvirtHypervisor, machine: control.LibvirtMachine) -> None:
    """Never called: each line is a question to the type checker."""
    _host: hypervisor.Hypervisor = host
    _machine: hypervisor.Machine = machine
