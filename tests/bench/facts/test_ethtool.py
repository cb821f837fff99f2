"""What ethtool prints, of three versions."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.facts.recorded import DATA, text
from vnicaudit.bench.facts.setup import Sized, coalescing, driver, features, sizes

VERSIONS = ("5.9", "6.1", "6.14")
every_version = pytest.mark.parametrize("version", VERSIONS)
PARSERS: dict[str, Callable[[str], Mapping[str, object]]] = {
    "i": driver,
    "k": features,
    "l": sizes,
    "g": sizes,
    "c": coalescing,
}
RECORDED = sorted(
    path.relative_to(DATA).as_posix()
    for path in DATA.glob("ethtool/*/*.?.txt")
    if path.parts[-2] != "json"
)


@every_version
def test_virtio_net(version: str) -> None:
    def of(option: str) -> str:
        return text(f"ethtool/{version}/virtio_net.{option}.txt")

    said = driver(of("i"))
    assert (said["driver"], said["version"], said["bus-info"]) == (
        "virtio_net", "1.0.0", "0000:00:03.0",
    )  # fmt: skip
    assert "firmware-version" not in said  # empty
    assert sizes(of("l")) == {"Combined": Sized("1", "1")}
    rings = sizes(of("g"))
    assert {name: str(rings[name]) for name in ("RX", "TX")} == {
        "RX": "256 of 256",
        "TX": "256 of 256",
    }
    assert coalescing(of("c")) == {
        "adaptive-rx": "off",
        "rx-usecs": "0",
        "rx-frames": "1",
        "tx-usecs": "0",
        "tx-frames": "1",
    }
    offloads = features(of("k"))
    assert offloads["rx-checksumming"] == "on [fixed]"
    assert offloads["generic-receive-offload"] == "on"
    assert offloads["generic-segmentation-offload"] == "off [requested on]"
    assert offloads["tx-tcp-segmentation"] == "off [fixed]"
    assert len(offloads) > 50


@every_version
def test_e1000_and_8139cp(version: str) -> None:
    def rings(name: str) -> dict[str, Sized]:
        return sizes(text(f"ethtool/{version}/{name}.g.txt"))

    assert rings("e1000")["RX"] == Sized("256", "4096")
    assert rings("8139cp")["TX"] == Sized("64", "64")
    assert driver(text(f"ethtool/{version}/e1000.i.txt"))["driver"] == "e1000"
    assert driver(text(f"ethtool/{version}/8139cp.i.txt"))["driver"] == "8139cp"


@every_version
def test_veth_has_channels_of_each_kind(version: str) -> None:
    found = sizes(text(f"ethtool/{version}/veth.l.txt"))
    assert found["RX"] == found["TX"] == Sized("1", "1")
    assert driver(text(f"ethtool/{version}/veth.i.txt"))["driver"] == "veth"


@every_version
@pytest.mark.parametrize("option", ["l", "g", "c"])
def test_what_lo_does_not_have_is_nothing(version: str, option: str) -> None:
    assert PARSERS[option](text(f"ethtool/{version}/lo.{option}.txt")) == {}


@pytest.mark.parametrize("name", RECORDED)
def test_cut_anywhere_no_number_is_another(name: str) -> None:
    whole = text(name)
    parse = PARSERS[name.split(".")[-2]]
    right = parse(whole).items()
    for length in range(len(whole)):
        assert parse(whole[:length]).items() <= right


def test_json_is_not_for_every_version() -> None:
    """Why the text is read."""
    assert text("ethtool/json/5.9.virtio_net.g.txt").startswith("Ring parameters")
    assert text("ethtool/json/6.1.virtio_net.g.txt").startswith("ethtool: bad command line")
    assert text("ethtool/json/6.14.virtio_net.g.txt").startswith("[ {")
    assert text("ethtool/json/6.14.virtio_net.l.txt").startswith("ethtool: bad command line")


@given(st.text(), st.sampled_from(sorted(PARSERS)))
def test_anything_can_be_read(garbage: str, option: str) -> None:
    for name, value in PARSERS[option](garbage).items():
        assert name
        assert str(value)
