"""What vnicaudit uses of libvirt-python's module for QEMU."""

from libvirt import virDomain

def qemuAgentCommand(domain: virDomain, cmd: str, timeout: int, flags: int) -> str: ...
