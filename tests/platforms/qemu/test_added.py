"""Arguments of ``<qemu:commandline>``: NICs and what cannot be read, each at its argument."""

import json

from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.model.nic import RunningNic
from vnicaudit.platforms.qemu.build import NicsInArguments, read_added

BROKEN = "-device: JSON that is cut off or malformed"
DEVICE = json.dumps({"driver": "virtio-net-pci", "netdev": "u", "mac": "52:54:00:00:00:09"})
WORDS = st.sampled_from(
    ["-netdev", "-device", "-nic", "-net", "-S", "-m", "user,id=u", "e1000,netdev=u", "nic", "",
     "-device e1000", "none", DEVICE, DEVICE[:-1], "vfio-pci,host=01:00.0"]
) | st.text(max_size=8)  # fmt: skip


def _read(*words: str) -> NicsInArguments:
    return read_added(words, arch=None, machine=None)


def test_nics_at_their_arguments() -> None:
    words = ("-netdev", "user,id=u", "-device", "rtl8139,netdev=u,mac=52:54:00:00:00:09",
             "-device", "vfio-pci,host=01:00.0", "-global", "x.y=z")  # fmt: skip
    nic = RunningNic(
        "rtl8139",
        "rtl8139",
        "user",
        mac="52:54:00:00:00:09",
        vhost=False,
        queues=1,
        evidence="arguments in <qemu:commandline>",
    )
    assert _read(*words) == NicsInArguments(((3, nic),), ())
    assert _read() == NicsInArguments((), ())


def test_an_argument_that_is_cut_off_anywhere_is_named() -> None:
    for end in range(1, len(DEVICE)):
        assert _read("-device", DEVICE[:end]) == NicsInArguments((), ((1, BROKEN),))


def test_a_file_of_options_may_hold_nics() -> None:
    assert _read("-S", "-readconfig", "more.cfg").problems == (
        (2, "-readconfig 'more.cfg' may hold NICs, which are not judged"),
    )


def test_what_refers_to_libvirts_own_arguments_is_not_missing() -> None:
    added = _read("-device", "e1000,netdev=hostnet0", "-set", "device.net0.rx_queue_size=512")
    assert [nic.driver for _place, nic in added.nics] == ["e1000"]
    assert added.problems == ()


@given(st.lists(WORDS, max_size=12))
def test_any_words(words: list[str]) -> None:
    added = read_added(words, arch="x86_64", machine="pc")
    places = [place for place, _ in added.nics]
    assert places == sorted(set(places))
    assert all(0 <= place < len(words) for place, _ in (*added.nics, *added.problems))


@given(st.lists(WORDS, max_size=8))
def test_no_device_is_lost_without_a_word(words: list[str]) -> None:
    """Whatever stands before it, JSON that is cut off behind ``-device`` is a problem there."""
    added = read_added([*words, "-S", "-S", "-device", DEVICE[:-1]], arch=None, machine=None)
    assert (len(words) + 3, BROKEN) in added.problems
