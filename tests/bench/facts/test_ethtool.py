"""What ethtool prints, of three versions."""

import pytest

from tests.bench.facts.recorded import DATA, text
from vnicaudit.bench.facts.setup import ethtool_values

every_version = pytest.mark.parametrize("version", ["5.9", "6.1", "6.14"])
RECORDED = sorted(
    path.relative_to(DATA).as_posix()
    for path in DATA.glob("ethtool/*/*.[klgc].txt")
    if path.parts[-2] != "json"
)


def found(version: str, nic: str, option: str) -> dict[str, str]:
    return ethtool_values(option, text(f"ethtool/{version}/{nic}.{option}.txt"))


@every_version
def test_virtio_net(version: str) -> None:
    assert found(version, "virtio_net", "l") == {"nic.channels.combined": "1"}
    assert found(version, "virtio_net", "g") == {"nic.rings.rx": "256", "nic.rings.tx": "256"}
    assert found(version, "virtio_net", "c") == {
        "nic.coalescing.adaptive-rx": "off",
        "nic.coalescing.rx-usecs": "0",
        "nic.coalescing.rx-frames": "1",
        "nic.coalescing.tx-usecs": "0",
        "nic.coalescing.tx-frames": "1",
    }
    offloads = found(version, "virtio_net", "k")
    assert offloads["nic.offload.rx-checksumming"] == "on [fixed]"
    assert offloads["nic.offload.generic-receive-offload"] == "on"
    assert offloads["nic.offload.generic-segmentation-offload"] == "off [requested on]"


@every_version
def test_present_sizes_not_the_highest(version: str) -> None:
    assert found(version, "e1000", "g")["nic.rings.rx"] == "256"
    assert found(version, "8139cp", "g")["nic.rings.tx"] == "64"
    channels = found(version, "veth", "l")
    assert channels["nic.channels.rx"] == channels["nic.channels.tx"] == "1"


@every_version
@pytest.mark.parametrize("option", ["l", "g", "c"])
def test_what_lo_does_not_have_is_nothing(version: str, option: str) -> None:
    assert found(version, "lo", option) == {}


@pytest.mark.parametrize("name", RECORDED)
def test_cut_anywhere_no_number_is_another(name: str) -> None:
    whole, option = text(name), name.split(".")[-2]
    right = ethtool_values(option, whole).items()
    for length in range(len(whole)):
        assert ethtool_values(option, whole[:length]).items() <= right


def test_json_is_not_for_every_version() -> None:
    """Why the text is read."""
    assert text("ethtool/json/5.9.virtio_net.g.txt").startswith("Ring parameters")
    assert text("ethtool/json/6.1.virtio_net.g.txt").startswith("ethtool: bad command line")
    assert text("ethtool/json/6.14.virtio_net.g.txt").startswith("[ {")
    assert text("ethtool/json/6.14.virtio_net.l.txt").startswith("ethtool: bad command line")
