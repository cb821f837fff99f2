"""Changes of options written into nova.conf: the bytes that differ, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change, Location
from vnicaudit.model.nova import NovaOption
from vnicaudit.platforms.nova_conf.read import parsed_text
from vnicaudit.platforms.nova_conf.read import text_of as decoded
from vnicaudit.platforms.nova_conf.write import edits_for, text_of
from vnicaudit.text.edits import applied


def _edited(data: bytes, line: int, field: str, new: str | None) -> bytes:
    place = Location("x", "nova.conf", line)
    change = Change(field, None, new, safe=True)
    return applied(data, edits_for(data, place, change))


@pytest.mark.parametrize(
    ("before", "line", "new", "after"),
    [
        pytest.param(b"[libvirt]\na=1\n", 2, "2", b"[libvirt]\na=2\n", id="a value"),
        pytest.param(b"[l]\r\na :  1 \r\nb=1\r\n", 2, "2", b"[l]\r\na :  2 \r\nb=1\r\n", id="CRLF"),
        pytest.param(b'[l]\na = "1"\n', 2, "2", b'[l]\na = "2"\n', id="quotes stay"),
        pytest.param(b"[l]\na = '1'", 2, "2", b"[l]\na = '2'", id="no line break at the end"),
        pytest.param(b"[l]\na=\nb=1\n", 2, "2", b"[l]\na=2\nb=1\n", id="an empty value"),
        pytest.param(b"[l]\na=1\n  2\n\t3\n\nb=1", 2, "9", b"[l]\na=9\n\nb=1", id="several lines"),
        pytest.param(b"\xef\xbb\xbf[l]\na=1\n", 2, "2", b"\xef\xbb\xbf[l]\na=2\n", id="a mark"),
        pytest.param(b"[l]\n# \xff\na=1\n", 3, "2", b"[l]\n# \xff\na=2\n", id="no UTF-8 elsewhere"),
        pytest.param(b"[l]\n#a=0\na=1\n;x\n", 3, None, b"[l]\n#a=0\n;x\n", id="a line removed"),
        pytest.param(b"[l]\na=1\n  2\nb=1\n", 2, None, b"[l]\nb=1\n", id="lines removed"),
        pytest.param(b"[l]\nb=1\na=1", 3, None, b"[l]\nb=1\n", id="the last line removed"),
        pytest.param(
            b"[l]\na=0\n[m]\na=5\n[l]\na=1\n", 6, None, b"[l]\n[m]\na=5\n[l]\n",
            id="removed wherever its section has it",
        ),
    ],
)  # fmt: skip
def test_what_differs(before: bytes, line: int, new: str | None, after: bytes) -> None:
    assert _edited(before, line, "a", new) == after


@pytest.mark.parametrize(
    ("data", "line", "new", "reason"),
    [
        (b"[l]\n# b\n", 2, "2", "line 2 does not set an option"),
        (b"[l]\na=1\n", 9, "2", "line 9 does not set an option"),
        (b"[l]\na=1\n", 2, "x\ny", "a cannot be set to"),
        (b"[l]\na=1 # one\n", 2, "2", "what looks like a comment after the value is part of it"),
        (b"[l]\na={{ one }}\n", 2, "2", "a template fills this line in"),
        (b"[l]\na={{ one }}\na=1\n", 3, None, "a template fills this line in"),
        (b"[l]\na=<%= @one %>\n", 2, "2", "a template fills this line in"),
        (b"[l]\na = @ONE@\n", 2, "2", "a template fills this line in"),
        (b"[l]\na = '%(one)s'\n", 2, "2", "a template fills this line in"),
        (b"[l]\na = <None>\n", 2, None, "a template fills this line in"),
        (b"[l]\na = __ONE__\na=1\n", 3, None, "a template fills this line in"),
        (b"[l]\na = ${ONE}\na=1\n", 3, None, "a template fills this line in"),
    ],
)
def test_what_cannot_be_written(data: bytes, line: int, new: str | None, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        _edited(data, line, "a", new)


def test_an_option_that_is_not_there() -> None:
    change = Change("a", None, "1", safe=True)
    with pytest.raises(RefusedError, match="the option is not in this file"):
        edits_for(b"[l]\n", Location("x", "nova.conf"), change)


def test_the_section_of_a_field_is_no_part_of_the_name() -> None:
    assert _edited(b"[libvirt]\na=1\n", 2, "libvirt/a", "2") == b"[libvirt]\na=2\n"


def test_text_to_be_shown() -> None:
    assert text_of(b"\xef\xbb\xbf# \xff\n") == "# \udcff\n"


_LINES = st.sampled_from([
    "", "# a = 5", ";a=1", "[other]", "[l]", "b = 2", "b: 'x'", "a = 1", 'a="1"', "a\t=\t7  ",
    "a = 1\n  2",
])  # fmt: skip


@given(st.lists(_LINES, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_file(lines: list[str], line_break: str, remove: bool) -> None:
    """oslo.config reads the result as the source but for the one option."""
    text = "\n".join(["[l]", *lines, "a = 3"])
    data = text.replace("\n", line_break).encode()
    before = _read(data)
    chosen = before[-1]
    new = None if remove else "9"
    after = _read(_edited(data, chosen.line, "a", new))
    kept = [(o.section, o.name, o.value) for o in before if not _is_gone(o, chosen, remove=remove)]
    if not remove:
        kept[-1] = (chosen.section, "a", "9")
    assert [(o.section, o.name, o.value) for o in after] == kept


def _read(data: bytes) -> tuple[NovaOption, ...]:
    return parsed_text(decoded(data, "x"), "x", lambda *_: True).options


def _is_gone(option: object, chosen: object, *, remove: bool) -> bool:
    def name(one: object) -> tuple[object, object]:
        return getattr(one, "section", None), getattr(one, "name", None)

    return remove and name(option) == name(chosen)
