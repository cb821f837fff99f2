"""Any text and any bytes: an answer or a TargetError, in bounded size."""

import json

from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.errors import TargetError
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.arguments import parse, parse_unquoted
from vnicaudit.platforms.qemu.build import NicsInArguments, read_added
from vnicaudit.platforms.qemu.nics import nics
from vnicaudit.platforms.qemu.options import BrokenOption, options
from vnicaudit.platforms.qemu.read import looks_like, read_text

PIECES = st.sampled_from(
    ["qemu-system-x86_64 ", "/usr/bin/kvm ", "-netdev ", "-device ", "-net ", "-nic ", "-smp ",
     "tap,id=n", "virtio-net-pci,netdev=n", '\'{"driver":"', '"}\' ', "\\\n", "\n", " ", "'", '"',
     ",", ",,", "=", "PID COMMAND\n", "77 ", "2023-01-02 03:04:05.678+0000: starting up\n", "\0",
     "mq=on", "fds=1:2", "queues=", "99999999999", "-name guest=\x1b[31m", "é", "nic,model=virtio",
     "-global ", "-set device.n.", "{", "[", "-machine ", "q35,accel=kvm "]
)  # fmt: skip
TEXT = st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join)


def _read(data: bytes) -> tuple[list[RunningQemu], TargetError | None]:
    found = []
    try:
        for qemu in read_text(data, target="t", file=None):
            found.append(qemu)
    except TargetError as error:
        return found, error
    return found, None


@given(TEXT.map(lambda text: text.encode("utf-8", "replace")))
def test_any_text(data: bytes) -> None:
    assert looks_like(data) in ("log", "ps", "command", None)
    found, error = _read(data)
    lines = [qemu.location.line for qemu in found] + ([error.line] if error else [])
    for line in lines:
        assert line is not None
        assert 1 <= line <= data.count(b"\n") + 1
    for qemu in found:
        assert len(qemu.nics) <= data.count(b"-") + 1


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    looks_like(data)
    _found, error = _read(data)
    assert error is None or error.message


@given(st.lists(st.text(max_size=20) | PIECES, max_size=20))
def test_any_arguments(words: list[str]) -> None:
    for arguments in (parse(words), parse_unquoted(words)):
        assert len(arguments.pairs) <= len(words)
        found = nics(arguments, arch="x86_64", machine=None, with_default=True)
        assert len(found.nics) <= len(arguments.pairs) + 1
        for nic in found.nics:
            assert nic.vhost in (True, False, None)


@given(st.text(max_size=60))
def test_any_value(text: str) -> None:
    """Only JSON is ever refused; the rest is never much larger than what it was read from."""
    json_like = text.lstrip().startswith("{")
    try:
        found = options(text, "type")
    except BrokenOption:
        found = {} if json_like else {"refused": text * 9}
    assert sum(len(key) + len(value) for key, value in found.items()) <= 3 * len(text) + 8


KEYS = st.text(st.characters(exclude_characters="=,", exclude_categories=["Cs"]), min_size=1)
VALUES = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(KEYS.filter(lambda key: not key.lstrip().startswith("{")), VALUES))
def test_what_qemu_would_write_is_read_back(given_options: dict[str, str]) -> None:
    text = ",".join(f"{key}={value.replace(',', ',,')}" for key, value in given_options.items())
    assert options(text) == given_options


# Arguments of ``<qemu:commandline>``.

BROKEN = "-device: JSON that is cut off or malformed"
DEVICE = json.dumps({"driver": "virtio-net-pci", "netdev": "u", "mac": "52:54:00:00:00:09"})
WORDS = st.sampled_from(
    ["-netdev", "-device", "-nic", "-net", "-S", "-m", "user,id=u", "e1000,netdev=u", "nic", "",
     "-device e1000", "none", DEVICE, DEVICE[:-1], "vfio-pci,host=01:00.0"]
) | st.text(max_size=8)  # fmt: skip


def test_an_argument_that_is_cut_off_anywhere_is_named() -> None:
    for end in range(1, len(DEVICE)):
        added = read_added(["-device", DEVICE[:end]], arch=None, machine=None)
        assert added == NicsInArguments((), ((1, BROKEN),))


def test_what_refers_to_libvirts_own_arguments_is_not_missing() -> None:
    words = ["-device", "e1000,netdev=hostnet0", "-set", "device.net0.rx_queue_size=512"]
    added = read_added([*words, "-readconfig", "more.cfg"], arch=None, machine=None)
    assert [nic.driver for _place, nic in added.nics] == ["e1000"]
    assert added.problems == ((5, "-readconfig 'more.cfg' may hold NICs, which are not judged"),)


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
