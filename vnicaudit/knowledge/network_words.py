"""Settings of links that the program which configures a host's network may set after udev, in its
words.

All of them wait for udev, and set what their own configuration names, an MTU also if DHCP does
(with networkd: only with UseMTU=, which netplan writes). What stands in .link files, and netplan's
offloads with them, is set by udev itself, before its rules.

Versions are those of the program that knows the word; tried with NetworkManager 1.42.4 and 1.58.1
(``nmcli --offline connection add``; 1.42.4 leaves an MTU and TSO as they are that a profile does
not name) and netplan 1.2. Sources: systemd.network(5) of 257, nm-settings-nmcli(5), _commit_mtu and
_ethtool_features_set in nm-device.c at 355bc902, the YAML reference and networkd.c of netplan at
e9dd90a9, interfaces(5) and the scripts of Debian's package ethtool, ifup-eth of initscripts (RHEL
8), ifcfg(5) of wicked, cloud-init's network configuration 1 and 2 at 04eacd06.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vnicaudit.knowledge.host_settings import SHORT, HostSetting, command_for


class _Words(NamedTuple):
    """How one program has settings: ``place``, where they stand; ``words`` by kind, or by the name
    of a feature."""

    place: str
    words: Mapping[str, str]


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
    "cloud-init": _Words(
        "{} for the device in the network configuration that its datasource has, or anywhere once "
        "cloud.cfg.d has network: {{config: disabled}}",
        {"mtu": "mtu: {value}"},
    ),
    "networkd": _Words("{} in [Link] of its .network file", {"mtu": "MTUBytes={value}"}),
    "netplan": _Words("{} under the device in /etc/netplan", {"mtu": "mtu: {value}"}),
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
"""Owner -> its words."""


def words_in(program: str, settings: Mapping[HostSetting, str]) -> Iterator[str]:
    """Lines of the configuration of that program, one for each of these settings that it may set
    after udev."""
    known = _PROGRAMS.get(program, _Words("{}", {}))
    for setting, value in settings.items():
        key = setting.name if setting.kind == "feature" else setting.kind
        words = known.words.get(key, known.words.get(setting.kind, ""))
        command = command_for(setting, value)
        text = words.format(
            value=value,
            name=setting.name,
            command=command,
            options=command.partition(" ")[2],
        )
        if text:
            yield known.place.format(text)
