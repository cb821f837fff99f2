"""Settings of links in the words of the program that configures a host's network.

Versions are those of the program that knows the word; tried with systemd 252 and 262 (``udevadm
test-builtin net_setup_link``; 252 takes TCPSegmentationOffload and leaves TSO on), NetworkManager
1.42.4 and 1.58.1 (``nmcli --offline connection add``) and netplan 1.2. Sources: systemd.link(5) of
257, nm-settings-nmcli(5), the YAML reference of netplan, interfaces(5) and the scripts of Debian's
package ethtool, ifup-eth of initscripts (RHEL 8), ifcfg(5) of wicked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vnicaudit.knowledge.host_settings import SHORT, HostSetting, command_for


class _Words(NamedTuple):
    """How one program has settings: ``place``, where they stand; ``words`` by kind, or by the name
    of a feature; what is on and what is off."""

    place: str
    words: Mapping[str, str]
    on: str = "on"
    off: str = "off"


_OFFLOADS = ("rx", "tx", "sg", "tso", "gso", "gro", "lro")
_NAMES = {short: name for name, short in SHORT.items()}
_PROGRAMS: Mapping[str, _Words] = {
    "network-manager": _Words(
        "nmcli connection modify PROFILE {}",
        {
            "mtu": "ethernet.mtu {value}",
            "queue-length": "link.tx-queue-length {value} (1.44 and later)",
            "ring": "ethtool.ring-{name} {value}",
            "channels": "ethtool.channels-{name} {value} (1.46 and later)",
        }
        | {_NAMES[short]: f"ethtool.feature-{short} {{value}}" for short in _OFFLOADS},
    ),
    "networkd": _Words(
        "{} in [Link] of the .link file that names it",
        {
            "mtu": "MTUBytes={value}",
            "queue-length": "TransmitQueueLength={value} (systemd 248 and later)",
            "ring": "{name}BufferSize={value} (systemd 244 and later)",
            "channels": "{name}Channels={value}",
            "rx-checksumming": "ReceiveChecksumOffload={value} (systemd 245 and later)",
            "tx-checksumming": "TransmitChecksumOffload={value} (systemd 245 and later)",
            "tcp-segmentation-offload": "TCPSegmentationOffload={value}",
            "generic-segmentation-offload": "GenericSegmentationOffload={value}",
            "generic-receive-offload": "GenericReceiveOffload={value}",
            "large-receive-offload": "LargeReceiveOffload={value}",
        },
        on="yes",
        off="no",
    ),
    "netplan": _Words(
        "{} under the device in /etc/netplan",
        {
            "mtu": "mtu: {value}",
            "rx-checksumming": "receive-checksum-offload: {value}",
            "tx-checksumming": "transmit-checksum-offload: {value}",
            "tcp-segmentation-offload": "tcp-segmentation-offload: {value}",
            "generic-segmentation-offload": "generic-segmentation-offload: {value}",
            "generic-receive-offload": "generic-receive-offload: {value}",
            "large-receive-offload": "large-receive-offload: {value}",
        },
        on="true",
        off="false",
    ),
    "ifupdown": _Words(
        "{} in its stanza of interfaces",
        {"ring": "hardware-dma-ring-{name} {value}"}
        | {_NAMES[short]: f"offload-{short} {{value}}" for short in _OFFLOADS}
        | dict.fromkeys(("mtu", "queue-length", "channels", "private-flag"), "post-up {command}"),
    ),
    "ifcfg": _Words(
        "{} in its ifcfg file",
        {"mtu": "MTU={value}"}
        | dict.fromkeys(("feature", "ring", "channels"), 'ETHTOOL_OPTS="{options}"'),
    ),
    "wicked": _Words(
        "{} in its ifcfg file",
        {"mtu": "MTU='{value}'"}
        | dict.fromkeys(("feature", "ring", "channels"), "ETHTOOL_OPTIONS='{options}'"),
    ),
}
"""Owner -> its words. netplan has none for queue lengths, rings and channels."""


def words_in(program: str, settings: Mapping[HostSetting, str]) -> Iterator[str]:
    """Lines of the configuration of that program, one for each of these settings that it knows."""
    known = _PROGRAMS.get(program, _Words("{}", {}))
    for setting, value in settings.items():
        key = setting.name if setting.kind == "feature" else setting.kind
        words = known.words.get(key, known.words.get(setting.kind, ""))
        command = command_for(setting, value)
        text = words.format(
            value={"on": known.on, "off": known.off}.get(value, value),
            name=setting.name.capitalize() if program == "networkd" else setting.name,
            command=command,
            options=command.partition(" ")[2],
        )
        if text:
            yield known.place.format(text)
