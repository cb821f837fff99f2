"""Settings of links in the words of what configures a network."""

from tests.rows import rows
from vnicaudit.knowledge.host_settings import HostSetting
from vnicaudit.knowledge.network_words import words_in

SETTINGS = {
    "tso": HostSetting("feature", "eth0", "tcp-segmentation-offload"),
    "mtu": HostSetting("mtu", "eth0"),
    "length": HostSetting("queue-length", "eth0"),
    "ring": HostSetting("ring", "eth0", "rx"),
    "channels": HostSetting("channels", "eth0", "combined"),
    "rps": HostSetting("rps", "eth0", "rx-0"),
}


@rows
def test_each_in_its_words(program: str, setting: str, value: str, words: str | None) -> None:
    assert list(words_in(program, {SETTINGS[setting]: value})) == ([] if words is None else [words])
