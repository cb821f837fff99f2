"""The table of QEMU's properties says what this machine's QEMU says."""

import pytest

from tests.conformance.properties import DEVICES, asked, table
from tests.not_run import not_run
from tests.rig.errors import Missing
from tests.rig.process import require
from vnicaudit.knowledge.qemu_properties import QemuProperty, properties_of
from vnicaudit.knowledge.to_virtio import OF_VIRTIO
from vnicaudit.model.host import Version


@pytest.mark.rig
def test_this_qemu_has_the_properties_of_the_table() -> None:
    try:
        require("qemu-system-x86_64")
    except Missing as error:
        not_run("rig", str(error))
    compared = 0
    for device in DEVICES:
        own = asked("qemu-system-x86_64", device)
        known = {name for name, one in properties_of(device).items() if one.not_yet is None}
        if own and device != "igb":
            assert set(own) == known, device
            compared += 1
    assert compared > 20


def test_what_virtio_takes_of_another_device_is_in_the_table() -> None:
    assert OF_VIRTIO - {"driver", "id"} <= set(properties_of("virtio-net-pci"))


def test_a_span_of_releases() -> None:
    properties = properties_of("e1000")
    assert properties["mitigation"] == QemuProperty("bool", None, Version(10, 0))
    assert properties["x-pcie-err-unc-mask"] == QemuProperty("bool", Version(7, 2))
    assert properties["mac"] == QemuProperty("str")
    assert properties_of("notanic") == {}


def test_what_devices_have_in_common_is_written_once() -> None:
    one = {"mac": "str", "addr": "str"}
    releases = {
        "1.0": {device: one | {"gone": "bool"} for device in DEVICES},
        "2.0": dict.fromkeys(DEVICES, one),
    }
    made = table(releases)
    assert made["groups"] == {
        "pci": {"addr": "str", "gone": "bool 1.0-1.0", "mac": "str"},
        "virtio": {},
    }
