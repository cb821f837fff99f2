"""The architecture of a definition that names none."""

from __future__ import annotations

import pytest

from vnicaudit.audit.effective import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.domain_xml.arch import arch_of
from vnicaudit.platforms.domain_xml.read import read_bytes


@pytest.mark.parametrize(
    ("emulator", "machine", "arch"),
    [
        ("/usr/bin/qemu-system-x86_64", None, "x86_64"),
        ("/usr/bin/qemu-system-x86_64", "pc-q35-9.2", "x86_64"),
        ("/usr/bin/qemu-system-x86_64-spice", None, "x86_64"),
        ("/nix/store/x/bin/.qemu-system-s390x-wrapped", None, "s390x"),
        ("/usr/bin/qemu-system-i386", "pc", "i686"),
        ("/usr/bin/qemu-system-arm", "versatilepb", "armv7l"),
        ("/usr/bin/qemu-system-ppc64le", "pseries", "ppc64le"),
        ("qemu-system-aarch64", "virt", "aarch64"),
        (None, "s390-ccw-virtio", "s390x"),
        (None, "s390-ccw-virtio-rhel9.4.0", "s390x"),
        (None, "pseries-rhel8.5.0", "ppc64"),
        (None, "pc-i440fx-noble", "x86_64"),
        (None, "q35", "x86_64"),
        ("/usr/libexec/qemu-kvm", "s390-ccw-virtio", "s390x"),
        # these say nothing
        ("/usr/libexec/qemu-kvm", None, None),
        ("/usr/bin/kvm", None, None),
        ("/usr/bin/qemu-system-", None, None),
        ("/usr/bin/qemu-system-or1k", None, None),
        ("/usr/bin/qemu-system-x86_64/wrapper", None, None),
        ("", "virt", None),
        (None, "powernv", None),
        (None, "pcspk", None),
        (None, None, None),
        # and these contradict each other: libvirt refuses them
        ("/usr/bin/qemu-system-x86_64", "s390-ccw-virtio", None),
        ("/usr/bin/qemu-system-s390x", "q35", None),
    ],
)
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


@pytest.mark.parametrize(
    ("type_", "emulator", "arch", "model"),
    [
        ("<type>hvm</type>", X86, "x86_64", "rtl8139"),
        ("<type arch=''>hvm</type>", X86, "x86_64", "rtl8139"),
        ("", X86, "x86_64", "rtl8139"),
        ("<type machine='s390-ccw-virtio'>hvm</type>", "", "s390x", "virtio"),
        ("<type arch='s390x'>hvm</type>", X86, "s390x", "virtio"),  # what is written counts
        ("<type>hvm</type>", "<emulator>/usr/libexec/qemu-kvm</emulator>", None, None),
        ("<type>hvm</type>", "<emulator/>", None, None),
        ("<type>hvm</type>", "", None, None),
    ],
)
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
