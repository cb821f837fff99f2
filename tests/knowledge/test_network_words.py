"""Settings of links in the words of what configures a network."""

import pytest

from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.knowledge.network_words import words_in

TSO = HostSetting("feature", "eth0", "tcp-segmentation-offload")
MTU, LENGTH = HostSetting("mtu", "eth0"), HostSetting("queue-length", "eth0")
RING = HostSetting("ring", "eth0", "rx")
CHANNELS = HostSetting("channels", "eth0", "combined")
RPS = HostSetting("rps", "eth0", "rx-0")


@pytest.mark.parametrize(
    ("program", "setting", "value", "words"),
    [
        ("network-manager", MTU, "9000", "nmcli connection modify PROFILE ethernet.mtu 9000"),
        ("network-manager", TSO, "on", "nmcli connection modify PROFILE ethtool.feature-tso on"),
        ("network-manager", RING, "4096", "nmcli connection modify PROFILE ethtool.ring-rx 4096"),
        ("network-manager", CHANNELS, "4",
         "nmcli connection modify PROFILE ethtool.channels-combined 4 (1.46 and later)"),
        ("networkd", MTU, "9000", "MTUBytes=9000 in [Link] of its .network file"),
        ("networkd", TSO, "off", None),
        ("networkd", CHANNELS, "4", None),
        ("netplan", MTU, "9000", "mtu: 9000 under the device in /etc/netplan"),
        ("netplan", TSO, "on", None),
        ("ifupdown", TSO, "on", "offload-tso on in its stanza of interfaces"),
        ("ifupdown", LENGTH, "2000",
         "post-up ip link set eth0 txqueuelen 2000 in its stanza of interfaces"),
        ("ifcfg", RING, "4096", 'ETHTOOL_OPTS="-G eth0 rx 4096" in its ifcfg file'),
        ("wicked", TSO, "on", "ETHTOOL_OPTIONS='-K eth0 tso on' in its ifcfg file"),
        ("wicked", RPS, "f", None),
        ("zdev", MTU, "9000", None),
    ],
)  # fmt: skip
def test_each_in_its_words(
    program: str, setting: HostSetting, value: str, words: str | None
) -> None:
    assert list(words_in(program, {setting: value})) == ([] if words is None else [words])
