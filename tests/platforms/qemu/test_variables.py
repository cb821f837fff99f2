"""Command lines from scripts: what only the shell knows is no fact."""

import pytest

from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.read import read_text

TAP = "-netdev tap,id=n,vhost=on"
NIC = "-device virtio-net-pci,netdev=n"


def _read(line: str) -> list[RunningQemu]:
    text = f"#!/bin/sh\nqemu-system-x86_64 {line}\n"
    return list(read_text(text.encode(), target="t", file="run.sh"))


@rows
def test_a_variable_where_a_fact_should_stand(line: str, variable: str) -> None:
    with pytest.raises(TargetError) as caught:
        _read(line)
    assert caught.value.message == (
        f"QEMU command line not understood: it has variables ({variable}), "
        "which only the shell knows"
    )
    assert (caught.value.file, caught.value.line) == ("run.sh", 2)


@rows
def test_a_placeholder_where_a_fact_should_stand(line: str, placeholder: str) -> None:
    with pytest.raises(TargetError) as caught:
        _read(line)
    assert caught.value.message == (
        f"QEMU command line not understood: it is a template ({placeholder}), to be filled in first"
    )


@rows
def test_a_variable_that_decides_nothing(line: str) -> None:
    (qemu,) = _read(line)
    nic = qemu.nics[0]
    assert (nic.driver, nic.backend, nic.vhost, nic.queues) == ("virtio-net-pci", "tap", True, 1)


@pytest.mark.parametrize("smp", ["$(nproc)", "$CPUS", "cpus=${CPUS}", "@CPUS@", "`nproc`,cores=2"])
def test_vcpus_that_only_the_shell_knows(smp: str) -> None:
    (qemu,) = _read(f"-smp {smp} {TAP} {NIC}")
    assert (qemu.vcpus, qemu.vcpus_max) == (None, None)


@pytest.mark.parametrize("given", ["-accel $ACCEL", "-machine q35,accel=${ACCEL:-kvm}"])
def test_an_accelerator_that_only_the_shell_knows(given: str) -> None:
    (qemu,) = _read(f"{given} {TAP} {NIC}")
    assert qemu.type is None
    assert len(qemu.nics) == 1


def test_what_the_kernel_or_libvirt_tells_is_no_shell_text() -> None:
    words = ["/usr/bin/qemu-kvm", "-netdev", "tap,id=$n", "-device", "virtio-net-pci,netdev=$n"]
    data = "\0".join([*words, "-name", "$x", ""]).encode()
    (qemu,) = read_text(data, target="t", file="cmdline")
    assert len(qemu.nics) == 1
