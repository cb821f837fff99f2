"""Settings of links that ethtool prints: offloads, rings, channels, private flags.

``ethtool -k '*'`` answers for all devices in one process, if ethtool and kernel talk by netlink;
where they do not, each device is asked. The text is read: ``--json`` exists for few of these
options, and not in all versions. Each device's part begins with its name, so that the files of a
sosreport, one for each device, are read alike.

Sources: features.c, rings.c, channels.c and ethtool.c of ethtool 5.4, 6.1 and 6.14 as
they ran. Counters: ``rx_no_buffer_count`` of Linux's e1000e, igb and ixgbe, and mlx5's
``rx_out_of_buffer`` (Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vnicaudit.model.host_facts import Amount, Feature
from vnicaudit.platforms.host.readings import HostCommand, HostReadings

_FOLDER = "sos_commands/networking/"
FEATURES = HostCommand("ethtool -k '*'", (f"{_FOLDER}ethtool_-k_*",))
RINGS = HostCommand("ethtool -g '*'", (f"{_FOLDER}ethtool_-g_*",))
CHANNELS = HostCommand("ethtool -l '*'", (f"{_FOLDER}ethtool_-l_*",))
SETTINGS = HostCommand("ethtool", (f"{_FOLDER}ethtool_[!-]*",), is_run=False)
DRIVER = HostCommand("ethtool -i", (f"{_FOLDER}ethtool_-i_*",), is_run=False)
FLAGS = HostCommand(
    "ethtool --show-priv-flags", (f"{_FOLDER}ethtool_--show-priv-flags_*",), is_run=False
)
STATISTICS = HostCommand("ethtool -S", (f"{_FOLDER}ethtool_-S_*",), is_run=False)
COMMANDS = (FEATURES, RINGS, CHANNELS, SETTINGS, DRIVER, FLAGS, STATISTICS)

DRIVERS = "link drivers"
"""Section behind which each adapter's driver is printed, in sections ``link driver DEVICE``."""
SCRIPT = """
adapters() {
    for path in /sys/class/net/*/device; do
        [ -e "$path" ] || continue
        device=${path%/*} device=${device##*/}
        case $device in -*) continue ;; esac
        driver=$(readlink "$path/driver") driver=${driver##*/}
        "$1"
    done
}
say_driver() { part "link driver $device"; printf '%s' "$driver"; }
ask_flags() {
    [ "$driver" != mlx5_core ] ||
        fact "ethtool --show-priv-flags $device" limited ethtool --show-priv-flags "$device"
}
ask_settings() {
    for letter in g l; do
        fact "ethtool -$letter '*' $device" limited ethtool "-$letter" "$device"
    done
}
part 'link drivers'
adapters say_driver
if command -v ethtool >/dev/null; then
    adapters ask_flags
    if ! limited ethtool -g '*' >/dev/null 2>&1 </dev/null; then
        adapters ask_settings
        for path in /sys/class/net/*/; do
            device=${path%/} device=${device##*/}
            case $device in -*) ;; *)
                fact "ethtool -k '*' $device" limited ethtool -k "$device" ;;
            esac
        done
    fi
fi
"""
COUNTER_SCRIPT = """
no_buffers() { limited ethtool -S "$device" | grep -E ' rx_(no_buffer_count|out_of_buffer):'; }
ask_statistics() {
    case $driver in
        e1000e | igb | ixgbe | mlx5_core) fact "ethtool -S $device" no_buffers ;;
    esac
}
! command -v ethtool >/dev/null || adapters ask_statistics
"""

_START = re.compile(
    r"^(?:Features|(?:Ring|Channel) parameters|Settings|Private flags) for (\S{1,32}):"
    r"[ \t]*$",
    re.MULTILINE,
)
_FEATURE = re.compile(
    r"^[ \t]{0,4}([\w-]{1,64}): (on|off)(?: \[(fixed|requested on|requested off)\])?[ \t]*$",
    re.MULTILINE | re.ASCII,
)
_AMOUNT = re.compile(r"^(RX|TX|Combined):[ \t]*(\d{1,9})[ \t]*$", re.MULTILINE | re.ASCII)
_NOW = "Current hardware settings:\n"
_FLAG = re.compile(r"^(\w[\w -]{0,40}?)[ \t]{0,40}: (on|off)[ \t]*$", re.MULTILINE | re.ASCII)
_SPEED = re.compile(r"^\tSpeed: (\d{1,9})Mb/s[ \t]*$", re.MULTILINE | re.ASCII)
_DRIVER = re.compile(r"^driver: (\S{1,64})[ \t]*$", re.MULTILINE)
_BUS = re.compile(r"^bus-info:[ \t]{0,8}(\S{0,64})[ \t]*$", re.MULTILINE)
_NO_BUFFER = re.compile(r"^ *rx_(?:no_buffer_count|out_of_buffer): (\d{1,20})[ \t]*$", re.M | re.A)
_NO_BUS = ("", "N/A", "tap")
"""bus-info of links without a device: tun.c prints ``tap``, bridges ``N/A``."""


class EthtoolAnswers(NamedTuple):
    """The answers of ethtool for one host's links, each by the link's name."""

    features: Mapping[str, dict[str, Feature]]
    rings: Mapping[str, dict[str, Amount]]
    channels: Mapping[str, dict[str, Amount]]
    flags: Mapping[str, dict[str, bool]]
    speeds: Mapping[str, int]
    drivers: Mapping[str, str]
    adapters: frozenset[str] | None
    """Links that have a device; None: unknown."""


def answers_in(readings: HostReadings) -> EthtoolAnswers:
    """Everything that was asked."""
    drivers, adapters = _drivers(readings)
    return EthtoolAnswers(
        features={name: _features(text) for name, text in _parts(readings, FEATURES)},
        rings=_filled(readings, RINGS),
        channels=_filled(readings, CHANNELS),
        flags={name: _flags(text) for name, text in _parts(readings, FLAGS)},
        speeds={
            name: int(found[1])
            for name, text in _parts(readings, SETTINGS)
            if (found := _SPEED.search(text))
        },
        drivers=drivers,
        adapters=adapters,
    )


def no_buffers(readings: HostReadings) -> dict[str, int]:
    """Link -> packets that its adapter dropped because no buffer was free, where its driver counts
    them apart from the kernel's counters."""
    return {
        name: int(found[1])
        for name, text in readings.outputs(STATISTICS.name).items()
        if (found := _NO_BUFFER.search(text))
    }


def _parts(readings: HostReadings, command: HostCommand) -> Iterator[tuple[str, str]]:
    """The device and the text of each part of what a command printed, for all or each."""
    whole = readings.output(command.name)
    texts = [whole] if whole is not None else readings.outputs(command.name).values()
    for text in texts:
        _before, *parts = _START.split(text)
        for name, part in zip(parts[0::2], parts[1::2], strict=True):
            yield name.partition("@")[0], part


def _features(text: str) -> dict[str, Feature]:
    return {
        found[1]: Feature(
            on=found[2] == "on",
            fixed=found[3] == "fixed",
            requested=found[3].endswith("on") if found[3] and found[3] != "fixed" else None,
        )
        for found in _FEATURE.finditer(text)
    }


def _filled(readings: HostReadings, command: HostCommand) -> dict[str, dict[str, Amount]]:
    return {
        name: amounts
        for name, text in _parts(readings, command)
        if (amounts := _amounts(text))
    }  # fmt: skip


def _amounts(text: str) -> dict[str, Amount]:
    before, _now, after = text.partition(_NOW)
    most = {found[1]: int(found[2]) for found in _AMOUNT.finditer(before)}
    return {
        found[1].lower(): Amount(now=int(found[2]), most=most.get(found[1]))
        for found in _AMOUNT.finditer(after)
        if int(found[2]) or most.get(found[1])
    }


def _flags(text: str) -> dict[str, bool]:
    return {found[1].rstrip(): found[2] == "on" for found in _FLAG.finditer(text)}


def _drivers(readings: HostReadings) -> tuple[dict[str, str], frozenset[str] | None]:
    """The drivers of links, and which of them are adapters."""
    if readings.output(DRIVERS) is not None:
        live = {name: text.strip() for name, text in readings.outputs("link driver").items()}
        return {name: driver for name, driver in live.items() if driver}, frozenset(live)
    texts = readings.outputs(DRIVER.name)
    drivers = {name: found[1] for name, text in texts.items() if (found := _DRIVER.search(text))}
    buses = {name: found[1] for name in drivers if (found := _BUS.search(texts[name]))}
    adapters = frozenset(name for name, bus in buses.items() if bus not in _NO_BUS)
    return drivers, adapters if drivers else None
