"""The architecture of a definition that names none."""

from tests.rows import rows
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.domain_xml.read import arch_of, read_bytes


@rows
def test_arch_of(emulator: str | None, machine: str | None, arch: str | None) -> None:
    assert arch_of(emulator, machine) == arch


def _domain(type_: str, emulator: str, *, kind: str = "kvm") -> Domain:
    text = (
        f"<domain type='{kind}'><name>a</name><os>{type_}</os><devices>{emulator}"
        "<interface type='user'/></devices></domain>"
    )
    (found,) = read_bytes(text.encode(), target="t", file="f")
    return found


X86 = "<emulator>\n  /usr/bin/qemu-system-x86_64\n</emulator>"


@rows
def test_a_definition_without_one(
    type_: str, emulator: str, arch: str | None, model: str | None
) -> None:
    domain = _domain(type_, emulator)
    assert domain.declared.arch == arch
    found = resolve(domain.nics[0].declared, domain.declared, HostConfig())
    assert found.model.effective == model


def test_other_hypervisors_emulators_tell_nothing() -> None:
    """Xen runs qemu-system-i386 for guests of 64 bits as well."""
    xen = "<emulator>/usr/lib/xen/bin/qemu-system-i386</emulator>"
    assert _domain("<type>hvm</type>", xen, kind="xen").declared.arch is None


def test_the_first_emulator_counts() -> None:
    """``string(./devices/emulator[1])``."""
    both = X86 + X86.replace("x86_64", "s390x")
    assert _domain("<type>hvm</type>", both).declared.arch == "x86_64"
