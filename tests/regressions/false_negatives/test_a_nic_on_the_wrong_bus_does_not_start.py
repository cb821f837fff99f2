"""Models that QEMU has, on a bus that they are not made for, were called clean.

On s390x and on virtio-mmio ``virtio-transitional`` becomes ``virtio-net-ccw-transitional``, which
QEMU 7.2 has not. What libvirt does not know as a model (``virtio-net-ccw``, ``virtio-net-device``,
``ne2k_isa``) it puts on PCI: "can't go on PCI bus".
"""

import json
from pathlib import Path

import pytest

from tests.regressions.false_negatives.definitions import definition, planned


@pytest.mark.parametrize("model", ["virtio-transitional", "virtio-net-ccw"])
def test_the_plan_makes_it_virtio(tmp_path: Path, model: str) -> None:
    text = f"<model type='{model}'/>"
    file = definition(tmp_path, text, arch="s390x", machine="s390-ccw-virtio")
    step = planned(file)
    assert [change["new"] for change in step["changes"] if change["field"] == "model"] == ["virtio"]
    assert "transitional" not in json.dumps([change["new"] for change in step["changes"]])
