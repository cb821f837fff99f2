"""Properties that a device has not, or not in every release, and machines that make no NIC for
``-nic``: nothing was said. Each was tried with QEMU 7.2, 10.0 and 11.1."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside

X86 = "qemu-system-x86_64 -nodefaults"
S390 = "qemu-system-s390x -nodefaults"
RISCV = "qemu-system-riscv64 -M virt"


def _said(folder: Path, text: str, *options: str) -> list[str]:
    (folder / "start").write_text(f"{text}\n")
    found: dict[str, Any] = json.loads(
        inside("audit", "start", "--format", "json", *options, cwd=folder).stdout
    )
    assert not found["targets"][0]["errors"], found["targets"]
    return [one["message"] for one in found["findings"] if one["rule"] == "VNIC014"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{X86} -device e1000,bogusprop=1", "e1000 has no property bogusprop"),
        (f"{X86} -device virtio-net-pci,bogusprop=1", "virtio-net-pci has no property bogusprop"),
        (f"{S390} -device virtio-net-ccw,vectors=3", "virtio-net-ccw has no property vectors"),
        (f"{S390} -device virtio-net-ccw,page-per-vq=on", "no property page-per-vq"),
        (f"{S390} -device virtio-net-device", "virtio-net-device needs virtio-bus"),
        (f"{X86} -device virtio-net-pci,speed=-5", "speed='-5' is less than zero"),
        (f"{X86} -device virtio-net-pci,duplex=x", "duplex='x' is not half or full"),
        (f"{X86} -device e1000,bootindex=4294967296", "bootindex='4294967296' is"),
        (f"{X86} -device e1000,romsize=-5", "romsize='-5' is not a number"),
        (f"{X86} -device virtio-net-pci,tx_queue_size=99999", "is more than 65535"),
        (
            f'{X86} -device \'{{"driver":"virtio-net-pci","disable-legacy":false}}\'',
            '"disable-legacy" is text in JSON',
        ),
        (f'{X86} -device \'{{"driver":"e1000","mac":5}}\'', '"mac" is text in JSON'),
        ("qemu-system-x86_64 -nic stream,server=on,addr.type=inet", "-nic cannot describe stream"),
        (f"{X86} -nic user,model=virtio -global virtio-net-pci.nosuch=on", "property nosuch"),
        ("qemu-system-x86_64 -global e1000.mac_registers=off", "property mac_registers"),
        (f"{RISCV} -nodefaults -device virtio-net-pci,bus=pci.0", "has no bus pci.0"),
        ("qemu-system-x86_64 -M q35 -nic none -device e1000,addr=1", "PCI slot '1' is used by"),
        ("qemu-system-x86_64 -nic none -device e1000,addr=2", "PCI slot '2' is used by"),
        ("qemu-system-riscv64 -nodefaults -device e1000", "e1000 needs a PCI bus"),
        (f"{X86} -net nic,netdev=a,queues=2 -netdev user,id=a", "-net nic has no option queues="),
        ("qemu-system-x86_64 -M microvm -nic user,model=e1000,queues=2", "no option queues="),
        (f"{X86} -M q35 -device pcie-root-port,id=p -device ne2k_isa,bus=p", "on a PCI bus"),
    ],
)
def test_what_no_qemu_takes(tmp_path: Path, text: str, reason: str) -> None:
    (message,) = _said(tmp_path, text)
    assert message.startswith("QEMU does not start: ")
    assert reason in message


@pytest.mark.parametrize("option", ["-nic user,model=virtio", "-net nic,model=e1000 -net user"])
@pytest.mark.parametrize("machine", ["virt", "spike"])
def test_a_machine_of_risc_v_makes_no_nic(tmp_path: Path, machine: str, option: str) -> None:
    (message,) = _said(tmp_path, f"qemu-system-riscv64 -M {machine} {option}")
    assert message.startswith("QEMU starts without this NIC: ")
    assert "1 not created" in inside("nics", "start", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("qemu-system-x86_64 -global e1000.mitigation=off", {"10.0", "11.1"}),
        (f"{X86} -device e1000,mitigation=off", {"10.0", "11.1"}),
        (f"{X86} -nic user,model=virtio -global e1000.mitigation=off", {"10.0", "11.1"}),
        (f"{X86} -device e1000,extra_mac_registers=off", {"11.1"}),
        (f"{X86} -device virtio-net-pci,host_uso=off", {"7.2"}),
        (f"{X86} -device virtio-net-pci,guest_tunnel=off", {"7.2", "10.0"}),
        (f'{X86} -device \'{{"driver":"e1000","id":"0n"}}\'', {"11.1"}),
    ],
)
def test_what_some_releases_take(tmp_path: Path, text: str, refused: set[str]) -> None:
    assert _said(tmp_path, text) == []
    for release in ("7.2", "10.0", "11.1"):
        told = _said(tmp_path, text, "--assume-qemu", release)
        assert bool(told) == (release in refused), (release, told)


@pytest.mark.parametrize(
    "text",
    [
        f"{X86} -device virtio-net-pci,speed=-1,duplex=full,ioeventfd=off,aer=on,tx=foo",
        f"{X86} -device e1000,rombar=-1,romfile=,init-vet=on",
        f"{X86} -device usb-net,serial=x,bus=usb.0 -device qemu-xhci -usb",
        f"{RISCV} -nodefaults -device virtio-net-pci,bus=pcie.0",
        "qemu-system-x86_64 -nic none -vga none -device e1000,addr=2",
        f"{S390} -device virtio-net-ccw,devno=fe.0.0001,packed=on,loadparm=1",
    ],
)
def test_what_qemu_takes(tmp_path: Path, text: str) -> None:
    assert _said(tmp_path, text) == []
