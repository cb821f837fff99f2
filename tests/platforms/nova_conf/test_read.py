"""One nova.conf file -> options with the line of each, as oslo.config reads them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oslo_config.iniparser import BaseParser, ParseError

from tests.rows import rows, rows_of_tuples
from vnicaudit.errors import TargetError
from vnicaudit.model.nova import NovaOption, as_bool
from vnicaudit.platforms.nova_conf import read as nova_read
from vnicaudit.platforms.nova_conf.read import (
    IniError,
    parsed_text,
    read_bytes,
    statements,
    text_of,
)


def options_of(data: bytes, file: str) -> tuple[NovaOption, ...]:
    """All options of a file, those that nobody asks for as well."""
    return parsed_text(text_of(data, file), file, lambda *_: True).options


def options(text: str) -> list[tuple[str, str, str, int, bool]]:
    """Section, name, value, line and certainty of each option in a text."""
    found = options_of(text.encode(), "nova.conf")
    return [(o.section, o.name, o.value, o.line, o.certain) for o in found]


def test_option_knows_section_file_and_line() -> None:
    text = "# head\n[DEFAULT]\n\n; note\nmy_ip = 192.0.2.1\n[libvirt]\nvirt_type=kvm\n"
    assert options_of(text.encode(), "etc/nova.conf") == (
        NovaOption("DEFAULT", "my_ip", "192.0.2.1", "etc/nova.conf", 5, True, 1, 9),
        NovaOption("libvirt", "virt_type", "kvm", "etc/nova.conf", 7, True, 1, 11),
    )


def test_sections_are_compared_in_lower_case_but_for_default() -> None:
    text = "[LibVirt]\na = 1\n[default]\nb = 2\n[DEFAULT]\nc = 3\n"
    assert [found[:2] for found in options(text)] == [
        ("libvirt", "a"),
        ("default", "b"),
        ("DEFAULT", "c"),
    ]


def test_value_over_several_lines_has_the_line_it_begins_in() -> None:
    text = "[DEFAULT]\nlist = a,\n  b,\n\tc\nnext = 1\n"
    assert options(text) == [
        ("DEFAULT", "list", "a,\nb,\nc", 2, True),
        ("DEFAULT", "next", "1", 5, True),
    ]


def test_quotes_are_taken_off_and_colons_assign() -> None:
    text = "[DEFAULT]\na = \"x y\"\nb: 'z'\nc = it's\n"
    assert [found[2] for found in options(text)] == ["x y", "z", "it's"]


def test_windows_line_ends() -> None:
    assert options("[libvirt]\r\nvirt_type = kvm\r\n") == [("libvirt", "virt_type", "kvm", 2, True)]


@rows_of_tuples
def test_columns_of_the_name_and_of_the_value(line: str, columns: tuple[int, int | None]) -> None:
    (option,) = options_of(f"[libvirt]\n{line}\n".encode(), "nova.conf")
    assert (option.column, option.value_column) == columns


def test_value_that_begins_on_the_next_line_has_no_column() -> None:
    (option,) = options_of(b"[libvirt]\na =\n  x\n", "nova.conf")
    assert (option.value, option.column, option.value_column) == ("\nx", 1, None)


def test_what_is_included_may_begin_another_section() -> None:
    text = "[libvirt]\na = 1\n{% include 'x' %}\nb = 2\n[pci]\nc = 3\n"
    found = options_of(text.encode(), "nova.conf")
    assert [(o.name, o.certain, o.present) for o in found] == [
        ("a", False, True),
        ("b", False, False),
        ("c", False, True),
    ]
    assert not read_bytes(text.encode(), target="t", file="nova.conf").complete


@rows
def test_credentials_are_not_kept(name: str) -> None:
    text = f"[database]\n{name} = hunter2\nmax_retries = 1\n"
    assert [found[1:4] for found in options(text)] == [("max_retries", "1", 3)]


@rows
def test_what_nova_refuses_is_an_error_with_its_line(text: str, message: str) -> None:
    with pytest.raises(TargetError) as raised:
        options_of(text.encode(), "nova.conf")
    assert str(raised.value) == f"{message}: Nova would not start with it"


def test_a_lone_carriage_return_ends_a_line_as_for_oslo_config() -> None:
    assert options("[libvirt]\rvirt_type = kvm\r") == [("libvirt", "virt_type", "kvm", 2, True)]
    with pytest.raises(TargetError, match=r"^nova\.conf:2: No ':' or '=' found"):
        options_of(b"\r0", "nova.conf")


def test_bytes_that_are_no_text_for_nova_are_an_error_with_their_line() -> None:
    with pytest.raises(TargetError) as raised:
        options_of(b"[libvirt]\n# caf\xe9\n", "nova.conf")
    assert str(raised.value) == "nova.conf:2: not UTF-8: Nova on Python 3 would not start with it"
    assert options_of(b"[libvirt]\n# caf\xe9\na = 1\n", "other.ini")


def test_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nova_read, "MAX_BYTES", 1024 * 1024)
    with pytest.raises(TargetError, match=r"^big\.conf: larger than 1 MiB: not read$"):
        options_of(b"#" * (1024 * 1024 + 1), "big.conf")


def test_without_a_file_the_target_is_the_place() -> None:
    config = read_bytes(b"[libvirt]\nvirt_type = kvm\n", target="-", file=None)
    assert str(config.place("libvirt/virt_type")) == "-:2:13"
    assert str(config.place("libvirt/cpu_mode")) == "-"


@rows
def test_booleans_are_those_of_oslo_config(text: str, value: bool | None) -> None:
    assert as_bool(text) is value


_PIECES = st.sampled_from([
    "[libvirt]", "[", "]", "use_virtio_for_bridges", "=", ":", "false", "\n", " ", "\t", "#", "{%",
    "%}", "{{", "}}", "{#", "#}", "<%", "%>", " if x ", " endif ", " else ", " include 'x' ",
    " set ", "\r\n", "\ufffc", "$x", "-", "[DEFAULT]\n", "x = 1\n",
])  # fmt: skip


@settings(deadline=None)
@given(st.lists(_PIECES, max_size=60).map("".join))
def test_columns_are_where_the_text_stands(text: str) -> None:
    try:
        found = options_of(text.encode("utf-8", "surrogatepass"), "nova.conf")
    except TargetError:
        return
    lines = text.replace("\r\n", "\n").split("\n")
    for option in found:
        line = lines[option.line - 1]
        assert option.column is None or line[option.column - 1 :].startswith(option.name)
        if option.value_column is not None and option.present:
            first = option.value.split("\n")[0]
            assert line[option.value_column - 1 :].startswith(first)


@settings(deadline=None)
@given(st.lists(_PIECES, max_size=60).map("".join) | st.text(max_size=200))
@example("\r0")
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    lines = len(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    try:
        found = options_of(data, "nova.conf")
        places = [option.line for option in found]
    except TargetError as error:
        places = [error.line or 0]
    assert all(1 <= line <= lines for line in places)


@pytest.mark.parametrize(
    "value",
    ["@VIRT_TYPE@", "%TX%", "<RX>", "<None>", "__MAXQ__", "%(virtio)s", "${RX_RING}", "$(RX)",
     "<%= @rx %>", "((rx))", "{rx}", "#{rx}#", "'@RX@'", "$RX_RING"],
)  # fmt: skip
def test_a_value_that_is_a_placeholder_is_not_certain(value: str) -> None:
    text = f"[libvirt]\nrx_queue_size = {value}\ntx_queue_size = 512\n"
    config = read_bytes(text.encode(), target="t", file="nova.conf")
    found = config.winner("libvirt", "rx_queue_size")
    assert found is not None
    assert (found.line, found.certain) == (2, False)


def test_a_reference_to_an_option_is_no_placeholder() -> None:
    text = "[libvirt]\nrx_queue_size = 512\ntx_queue_size = ${rx_queue_size}\n"
    config = read_bytes(text.encode(), target="t", file="nova.conf")
    found = config.winner("libvirt", "tx_queue_size")
    assert found is not None
    assert (found.value, found.certain) == ("512", True)


Outcome = tuple[list[object], tuple[str, int] | None]
"""Statements, and the message and line of the error that ended them."""


class _Oslo(BaseParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def assignment(self, key: str, value: list[str]) -> None:
        self.found.append((key, value))

    def new_section(self, section: str) -> None:
        self.found.append(section)


def _by_oslo(lines: list[str]) -> Outcome:
    parser = _Oslo()
    try:
        parser.parse(lines)
    except ParseError as error:
        return parser.found, (error.msg, error.lineno)
    return parser.found, None


def _by_us(lines: list[str]) -> Outcome:
    found: list[object] = []
    try:
        for _number, name, value in statements(lines):
            found.append(name if value is None else (name, value))
    except IniError as error:
        return found, (error.message, error.number)
    return found, None


@rows
def test_each_case_is_that_of_oslo_config(text: str) -> None:
    assert _by_us(text.split("\n")) == _by_oslo(text.split("\n"))


@given(st.lists(st.text(st.sampled_from("[]=:#; \t'\"ab\x0b\xa0\\"), max_size=8), max_size=12))
def test_any_lines_are_those_of_oslo_config(lines: list[str]) -> None:
    assert _by_us(lines) == _by_oslo(lines)
