"""Models that QEMU has, on a bus that they are not made for, were called clean.

On s390x and on virtio-mmio ``virtio-transitional`` becomes ``virtio-net-ccw-transitional``, which
QEMU 7.2 has not. What libvirt does not know as a model (``virtio-net-ccw``, ``virtio-net-device``,
``ne2k_isa``) it puts on PCI: "can't go on PCI bus".
"""

import json
from pathlib import Path

import pytest

from tests.regressions.said_clean.definitions import audited, definition, nics, planned

CHANNELS = "the channel subsystem"
ON_PCI = "{} cannot be on PCI, where libvirt puts it: the domain is defined but does not start"
OF_PCI = "{} is a PCI device, not one of {}: the domain is defined but does not start"
MMIO = "<address type='virtio-mmio'/>"


@pytest.mark.parametrize(
    ("arch", "machine", "model", "address", "words"),
    [
        ("s390x", "s390-ccw-virtio", "virtio-transitional", "", OF_PCI),
        ("s390x", "s390-ccw-virtio", "virtio-non-transitional", "", OF_PCI),
        ("aarch64", "virt", "virtio-transitional", MMIO, OF_PCI),
        ("s390x", "s390-ccw-virtio", "virtio-net-ccw", "", ON_PCI),
        ("s390x", "s390-ccw-virtio", "virtio-net", "", ON_PCI),
        ("x86_64", "pc", "virtio-net-device", "", ON_PCI),
        ("x86_64", "q35", "ne2k_isa", "", ON_PCI),
        ("aarch64", "virt", "smc91c111", "", ON_PCI),
    ],
)
def test_a_device_on_another_bus_is_an_error(
    tmp_path: Path, arch: str, machine: str, model: str, address: str, words: str
) -> None:
    file = definition(tmp_path, f"<model type='{model}'/>{address}", arch=arch, machine=machine)
    errors = [found for found in audited(file) if found["severity"] == "error"]
    assert [found["rule"] for found in errors] == ["VNIC007"]
    where = "virtio-mmio" if address else CHANNELS
    assert errors[0]["message"] == words.format(model, where)
    assert errors[0]["location"]["line"] == 3
    assert [nic["starts"] for nic in nics(file)] == [False]


def test_another_name_of_virtio_that_does_not_start_is_no_advice_to_review(tmp_path: Path) -> None:
    file = definition(tmp_path, "<model type='virtio-net-device'/>")
    assert "VNIC005" not in {found["rule"] for found in audited(file)}


@pytest.mark.parametrize("model", ["virtio-transitional", "virtio-net-ccw"])
def test_the_plan_makes_it_virtio(tmp_path: Path, model: str) -> None:
    text = f"<model type='{model}'/>"
    file = definition(tmp_path, text, arch="s390x", machine="s390-ccw-virtio")
    step = planned(file)
    assert [change["new"] for change in step["changes"] if change["field"] == "model"] == ["virtio"]
    assert "transitional" not in json.dumps([change["new"] for change in step["changes"]])


def test_a_guest_with_an_old_driver_is_not_made_transitional_where_there_is_no_pci(
    tmp_path: Path,
) -> None:
    old = "http://redhat.com/rhel/5.11"  # knows virtio 0.9
    file = definition(
        tmp_path, f"<model type='e1000'/>{MMIO}", arch="aarch64", machine="virt", system=old
    )
    changes = [found["change"] for found in audited(file) if found["change"]]
    assert "virtio-transitional" not in {change["new"] for change in changes}
