"""Find the comments in a file that accept findings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Literal, NamedTuple

from vnicaudit.base.wording import closest, shortened

# Comments that accept findings, in files whose comments begin with ``#``.
#
# ``# vnicaudit: suppress VNIC033 the guests of this node need it; until=2027-01-31``
#
# A comment applies to the next line that is neither empty nor a comment; at the top of a file or
# of a YAML document, to all of it. In YAML and code it may also be at the end of the line that it
# is about; in an INI file that would be part of the value.

MARK = "vnicaudit:"
"""Part of every comment that accepts findings."""
MOST_COMMENTS = 1000
"""Maximum number of comments read from one file."""

Form = Literal["ini", "yaml", "code"]
"""Syntax of a file. Only YAML has several documents."""


FIRST, LAST = 0, 2**31
"""Line range of a whole file; a finding without a line has line 0."""

_WORD = "suppress"
_MISSPELT = 0.85
"""Likeness (difflib) of a word that is meant to be this one; "impress" and "supplies" are not."""
_ENTRY = r"[ \t]*vnicaudit:[ \t]*(\S+)(?:[ \t]+|(?=\s)|$)(.*)"
_ALONE = r"[ \t]*[#;]" + _ENTRY
_MARKER = r"(?:---|\.\.\.)(?:\s|$)"
_BEHIND_YAML = r"[ \t]#" + _ENTRY
_BEHIND_CODE = r"(?<!#)#" + _ENTRY
_COMMENTS: dict[Form, tuple[str, ...]] = {
    "ini": ("#", ";"), "yaml": ("#",), "code": ("#",),
}  # fmt: skip
_SETTINGS = ("until", "owner", "mac")
_LONGEST = 20
_MEANT_SO = (*_SETTINGS, "expires", "expiry", "till")
"""Names that are meant as settings; a similar name is not part of a reason."""
_LOOKS_SET = r"(?i)\b(?:until|owner|mac)\s*(?:=|:\s*\d)|\b(?:until+|till?|expires?)\W{0,3}\d{4}-\d"
_OTHER_ENDS = ("\r", "\x85", "\u2028", "\u2029")
"""Some readers end a line at these; YAML 1.1 (section 5.4) at all of them."""
_BROKEN = (("problem", "a carriage return or another line break stands in the middle of its line"),)


_Entry = tuple[tuple[str, str], ...]


class CommentEntry(NamedTuple):
    """A comment on a line. It applies to findings on the lines ``first`` to ``last``. ``entry``
    holds its content: the rule, the reason and settings; or the ``problem`` that makes it
    invalid."""

    line: int
    first: int
    last: int
    entry: _Entry


def reason_and_settings(text: str) -> dict[str, str]:
    """The reason and the settings behind it, such as ``; until=2027-01-31``. If the reason contains
    what looks like a setting, ``until`` becomes that text, which is not a valid date: a suppression
    that seems to end must not last for ever."""
    pieces = text.rstrip("; \t").split(";")
    settings: dict[str, str] = {}
    while len(pieces) > 1:
        name, equals, value = pieces[-1].partition("=")
        name = name.strip().lower()
        # a misspelt setting counts, so that the mistake is reported
        meant = name in _SETTINGS or (len(name) <= _LONGEST and closest(name, _MEANT_SO))
        if not equals or not meant:
            break
        settings[name] = value.strip()
        pieces.pop()
    reason = ";".join(pieces).strip()
    if match := re.search(_LOOKS_SET, reason):
        settings["until"] = reason[match.start() :]
    return {"reason": reason, **settings}


def accepting_comments(text: str, form: Form) -> tuple[CommentEntry, ...]:
    """The comments of a file that accept findings or are meant to. At most one more than
    MOST_COMMENTS is returned, since the file may come from anywhere. In YAML and code, ``#`` within
    a string must have been replaced already."""
    if MARK not in text:
        return ()
    return tuple(islice(_CommentWalk(text, form).comments(), MOST_COMMENTS + 1))


class _CommentWalk:
    """A walk over the lines of a file."""

    def __init__(self, text: str, form: Form) -> None:
        self._lines = text.split("\n")
        self._form: Form = form
        self._waiting: list[tuple[int, _Entry]] = []
        self._top: list[tuple[int, _Entry]] = []
        self._first = FIRST
        self._at_top = True

    def comments(self) -> Iterator[CommentEntry]:
        """The comments that accept findings, with the lines to which they apply."""
        for number, line in enumerate(self._lines, 1):
            # in an INI file an indented line continues the value above
            text = line.rstrip() if self._form == "ini" else line.strip()
            if text.startswith(_COMMENTS[self._form]):
                if entry := _entry(re.match(_ALONE, line)) or _broken(line):
                    self._waiting.append((number, entry))
            elif self._form == "yaml" and re.match(_MARKER, line):
                if not self._at_top:
                    yield from self._of_document(number - 1)
                    self._first = number
                if text[3:].lstrip()[:1] not in ("", "#"):
                    yield from self._of_line(number, line)
            elif text and not (self._form == "yaml" and self._at_top and text.startswith("%")):
                yield from self._of_line(number, line)
        yield from self._of_document(LAST)

    def _of_line(self, number: int, line: str) -> Iterator[CommentEntry]:
        if self._at_top:
            self._top, self._at_top = self._waiting, False
        else:
            yield from (CommentEntry(at, number, number, one) for at, one in self._waiting)
        self._waiting = []
        if self._form not in ("yaml", "code"):
            return
        is_yaml = self._form == "yaml"
        behind = re.search(_BEHIND_YAML, line) if is_yaml else re.search(_BEHIND_CODE, line)
        if entry := _entry(behind) or _broken(line):
            yield CommentEntry(number, number, number, entry)

    def _of_document(self, last: int) -> Iterator[CommentEntry]:
        """The comments at the top of the document that ends at ``last``."""
        yield from (CommentEntry(at, self._first, last, one) for at, one in self._top)
        # no line follows these: they accept nothing, which is reported
        yield from (CommentEntry(at, LAST + 1, LAST + 1, one) for at, one in self._waiting)
        self._waiting = []
        self._top, self._at_top = [], True


def _broken(line: str) -> _Entry:
    """The problem of a comment that is separated from its line by another line break; else
    empty."""
    return _BROKEN if MARK in line and any(end in line.rstrip() for end in _OTHER_ENDS) else ()


def _entry(match: re.Match[str] | None) -> _Entry:
    """The parts of a comment; empty if it is about something else."""
    if match is None:
        return ()
    word, text = match[1], match[2].rstrip()  # a line may end in CRLF
    if word != _WORD:
        if not get_close_matches(word.rstrip(":").lower(), (_WORD,), 1, _MISSPELT):
            return ()  # another kind of comment
        return (("problem", f"unknown word {shortened(word)!r}; write 'suppress'"),)
    if any(end in text for end in _OTHER_ENDS):  # the text behind it may not be a comment
        return _BROKEN
    rule, _, rest = text.partition(" ")
    return tuple({"rule": rule.rstrip(":"), **reason_and_settings(rest)}.items())
