"""Any text and any bytes: an answer or a TargetError, in bounded size."""

from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.errors import TargetError
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.arguments import parse, parse_unquoted
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
