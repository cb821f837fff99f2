"""``-global`` and ``-set``: device properties that are given away from the device (qemu(1))."""

from __future__ import annotations

from vnicaudit.platforms.qemu.arguments import Arguments
from vnicaudit.platforms.qemu.options import Options, lenient


def device_defaults(driver: str, given: dict[str, Options]) -> Options:
    """``-global`` for this driver; ``virtio-net-device`` is inside each virtio NIC."""
    inner = given.get("virtio-net-device", {}) if driver.startswith("virtio-net") else {}
    return {**inner, **given.get(driver, {})}


def global_properties(arguments: Arguments) -> dict[str, Options]:
    """``-global driver.property=value`` (or driver=,property=,value=): a property's default."""
    found: dict[str, Options] = {}
    for value in arguments.values("global"):
        if value.startswith("driver="):
            given = lenient(value)
            driver, name, text = (given.get(k, "") for k in ("driver", "property", "value"))
        else:
            left, _equals, text = value.partition("=")
            driver, _dot, name = left.partition(".")
        found.setdefault(driver, {})[name] = text
    return found


def set_properties(arguments: Arguments) -> dict[str, Options]:
    """``-set device.ID.property=value``: overrides one device's property."""
    found: dict[str, Options] = {}
    for value in arguments.values("set"):
        left, _equals, text = value.partition("=")
        parts = left.split(".")
        if len(parts) == 3 and parts[0] == "device":
            found.setdefault(parts[1], {})[parts[2]] = text
    return found
