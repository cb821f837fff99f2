"""Changes in model terms -> properties of images."""

from __future__ import annotations

import pytest

from vnicaudit.knowledge.nova_releases import property_of
from vnicaudit.model.finding import Change
from vnicaudit.model.server import MULTIQUEUE, PACKED


@pytest.mark.parametrize(
    ("field", "old", "new", "property_"),
    [
        ("model", "rtl8139", "virtio", ("hw_vif_model", "virtio")),
        ("hw_vif_model", None, "virtio", ("hw_vif_model", "virtio")),
        ("model", "e1000", "virtio-transitional", None),
        ("model", "e1000", "e1000e", None),
        ("model", "e1000", None, None),
        ("queues", None, "4", (MULTIQUEUE, "true")),
        ("queues", "8", "4", None),
        ("packed", None, "on", (PACKED, "true")),
        ("packed", "on", "off", (PACKED, "false")),
        (MULTIQUEUE, "true", "False", (MULTIQUEUE, "false")),
        ("rx_queue_size", "2048", "1024", None),
        ("hw_disk_bus", "ide", "virtio", None),
    ],
)
def test_a_property_comes_of_what_nova_has_one_for(
    field: str, old: str | None, new: str | None, property_: tuple[str, str] | None
) -> None:
    assert property_of(Change(field, old, new, safe=True)) == property_
