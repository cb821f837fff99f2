"""Diffs as they are reviewed: readable in every encoding, without secrets, the same each time."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.remedy.planning.planned import changed_lines, definition, in_file, interface, step
from tests.remedy.planning.units import file_of
from vnicaudit.platforms.domain_xml.write import rewritten
from vnicaudit.remedy.replacing import unified_diff

SWAP = ["-      <model type='e1000'/>", "+      <model type='virtio'/>"]
TEXT = definition(interface("e1000"), name="büro")
FORMS = {
    "utf-8": TEXT.encode(),
    "bom": b"\xef\xbb\xbf" + TEXT.encode(),
    "latin-1": f"<?xml version='1.0' encoding='ISO-8859-1'?>\n{TEXT}".encode("latin-1"),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_an_encoding_is_not_seen(data: bytes, tmp_path: Path) -> None:
    """And the bytes that are written are in the encoding that the file has."""
    path = tmp_path / "a.xml"
    (source,) = in_file(path, data)
    found = step(source)
    assert changed_lines(found.diff) == SWAP
    assert "\x00" not in found.diff
    assert "\\x" not in found.diff
    after = rewritten(data, file_of(found).place or "", found.changes)
    assert after == data.replace(b"e1000", b"virtio")


def test_lines_that_end_in_crlf_keep_their_ends(tmp_path: Path) -> None:
    data = TEXT.replace("\n", "\r\n").encode()
    (source,) = in_file(tmp_path / "a.xml", data)
    found = step(source)
    swap = [line for line in found.diff.split("\n") if line[:1] in "+-" and "model" in line]
    assert swap == [f"{line}\r" for line in SWAP]
    after = rewritten(data, file_of(found).place or "", found.changes)
    assert after == data.replace(b"e1000", b"virtio")


def test_a_file_of_one_line(tmp_path: Path) -> None:
    (source,) = in_file(tmp_path / "a.xml", TEXT.replace("\n", ""))
    lines = step(source).diff.splitlines()
    assert lines[2] == "@@ -1 +1 @@"
    assert [line for line in lines if line.startswith("\\")] == ["\\ No newline at end of file"] * 2
    assert lines[3].replace("e1000", "virtio")[1:] == lines[5][1:]


_GRAPHICS = "    <graphics type='vnc' port='-1' passwd='{}' passwdValidTo='2027-01-31'/>\n"


@pytest.mark.parametrize("secret", ["s3cret", 's3"cret', "s3\ncret", "&lt;s3cret"])
def test_a_password_beside_the_nic_is_not_shown(secret: str, tmp_path: Path) -> None:
    """A plan is kept where others read it; the definition is changed with the password in it."""
    graphics = _GRAPHICS.format(secret)
    text = definition(interface("e1000"), devices=graphics)
    (source,) = in_file(tmp_path / "a.xml", text)
    found = step(source)
    assert "cret" not in found.diff
    assert "passwd" not in found.diff
    assert changed_lines(found.diff) == SWAP
    after = rewritten(source.text, file_of(found).place or "", found.changes)
    assert after == text.replace("e1000", "virtio").encode()


def test_a_definition_in_one_line_is_shown_without_its_secrets(tmp_path: Path) -> None:
    disk = "<disk><source><cookies><cookie name='id'>s3cret</cookie></cookies></source></disk>"
    text = definition(interface("e1000"), devices=_GRAPHICS.format("s3cret") + disk)
    (source,) = in_file(tmp_path / "a.xml", text.replace("\n", ""))
    found = step(source).diff
    assert "passwd='***'" in found
    assert "<cookie name='id'>***</cookie>" in found
    assert "s3cret" not in found


def test_secrets_leave_the_numbers_of_lines_alone() -> None:
    before = b"<a passwd='x\ny'/>\n<a/>\n<b/>\n<c/>\n<d/>\n<old/>\n"
    assert unified_diff(before, before.replace(b"old", b"new"), "n").splitlines()[2] == (
        "@@ -4,4 +4,4 @@"
    )


def test_what_cannot_be_decoded_is_shown_as_escapes() -> None:
    assert changed_lines(unified_diff(b"<a id='\xff'/>\n", b"<a id='\xfe'/>\n", "n")) == [
        "-<a id='***'/>", "+<a id='***'/>",
    ]  # fmt: skip


def test_no_difference_is_no_diff() -> None:
    assert unified_diff(b"<a/>\n", b"<a/>\n", "n") == ""


def test_only_line_feeds_end_lines() -> None:
    """A form feed or U+2028 is a character like others."""
    before = "<a id='a\fb\u2028c\x85d'/>\n<e1000/>\n".encode()
    lines = unified_diff(before, before.replace(b"e1000", b"virtio"), "n").split("\n")
    assert lines[2:5] == ["@@ -2 +2 @@", "-<e1000/>", "+<virtio/>"]


_LINES = st.lists(st.sampled_from(["<a/>", "<b id='1'/>", "  <c/>", ""]), max_size=12)


@given(_LINES, _LINES)
def test_what_is_taken_away_and_put_in_makes_one_of_the_other(
    before: list[str], after: list[str]
) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    diff = unified_diff(old.encode(), new.encode(), "n")
    assert (diff == "") == (old == new)
    added = [line[1:] for line in changed_lines(diff) if line.startswith("+")]
    gone = [line[1:] for line in changed_lines(diff) if line.startswith("-")]
    assert sorted([*before, *added]) == sorted([*after, *gone])
