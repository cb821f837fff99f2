"""Comments that accept findings, in files that have comments with ``#``.

``# vnicaudit: suppress VNIC033 the guests of this node need it; until=2027-01-31``

A comment holds for the next line that is neither empty nor a comment; at the top of a file, or of a
YAML document, for all of it. In YAML and code it may also stand at the end of the line that it is
about; in an INI file that would be part of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Literal, NamedTuple

from vnicaudit.base.wording import closest, shortened

MARK = "vnicaudit:"
"""In every comment that accepts findings."""
MOST_COMMENTS = 1000
"""More of one file are not read."""
FIRST, LAST = 0, 2**31
"""Lines of a whole file: a finding without a line is on the line 0."""

Form = Literal["ini", "flags", "yaml", "code"]
"""How a file is written: in YAML it has documents."""

_WORD = "suppress"
_ENTRY = r"[ \t]*vnicaudit:[ \t]*(\S+)(?:[ \t]+|(?=\s)|$)(.*)"
_ALONE = re.compile(r"[ \t]*[#;]" + _ENTRY)
_MARKER = re.compile(r"(?:---|\.\.\.)(?:\s|$)")
_BEHIND: dict[Form, re.Pattern[str]] = {
    "yaml": re.compile(r"[ \t]#" + _ENTRY), "code": re.compile(r"(?<!#)#" + _ENTRY),
}  # fmt: skip
_COMMENTS: dict[Form, tuple[str, ...]] = {
    "ini": ("#", ";"), "flags": ("#",), "yaml": ("#",), "code": ("#",),
}  # fmt: skip
_SETTINGS = ("until", "owner", "mac")
_LONGEST = 20
_MEANT_SO = (*_SETTINGS, "expires", "expiry", "till")
"""Names that settings are given; one that is like them is no part of a reason."""
_LOOKS_SET = re.compile(
    r"\b(?:until|owner|mac)\s*(?:=|:\s*\d)|\b(?:until+|till?|expires?)\W{0,3}\d{4}-\d",
    re.IGNORECASE,
)
_OTHER_ENDS = ("\r", "\x85", "\u2028", "\u2029")
"""Some readers end a line there, YAML 1.1 (section 5.4) at all of them."""
_BROKEN = (("problem", "a carriage return or another line break stands in the middle of its line"),)


_Entry = tuple[tuple[str, str], ...]


class CommentEntry(NamedTuple):
    """A comment on a line. It holds for findings on the lines ``first`` to ``last``; ``entry`` is
    what it says: the rule, the reason, and settings; or the ``problem`` for which it is none."""

    line: int
    first: int
    last: int
    entry: _Entry


def reason_and_settings(text: str) -> dict[str, str]:
    """The reason, and behind it settings like ``; until=2027-01-31``. Where what looks like a
    setting stands inside of the reason, the date is that text, which is none: a suppression that
    seems to end must not last for ever."""
    pieces = text.rstrip("; \t").split(";")
    settings: dict[str, str] = {}
    while len(pieces) > 1:
        name, equals, value = pieces[-1].partition("=")
        name = name.strip().lower()
        if not equals or not _is_meant_so(name):
            break
        settings[name] = value.strip()
        pieces.pop()
    reason = ";".join(pieces).strip()
    if match := _LOOKS_SET.search(reason):
        settings["until"] = reason[match.start() :]
    return {"reason": reason, **settings}


def _is_meant_so(name: str) -> bool:
    """True for the name of a setting, also where it is misspelt: that is told then."""
    return name in _SETTINGS or (len(name) <= _LONGEST and bool(closest(name, _MEANT_SO)))


def accepting_comments(text: str, form: Form) -> tuple[CommentEntry, ...]:
    """The comments of a file that accept findings, or mean to; of a file that may come from
    anywhere one more than are read. In YAML and code no ``#`` stands in a text any more."""
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
        """Those that accept findings, with the lines that they are about."""
        for number, line in enumerate(self._lines, 1):
            # indented in an INI file, it is part of the value above
            text = line.rstrip() if self._form == "ini" else line.strip()
            if text.startswith(_COMMENTS[self._form]):
                if entry := _entry(_ALONE.match(line)) or _broken(line):
                    self._waiting.append((number, entry))
            elif self._form == "yaml" and _MARKER.match(line):
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
        behind = _BEHIND.get(self._form)
        if behind is not None and (entry := _entry(behind.search(line)) or _broken(line)):
            yield CommentEntry(number, number, number, entry)

    def _of_document(self, last: int) -> Iterator[CommentEntry]:
        """Comments at the top of the document that ends here."""
        yield from (CommentEntry(at, self._first, last, one) for at, one in self._top)
        # nothing stands below these: they accept nothing, which is reported
        yield from (CommentEntry(at, LAST + 1, LAST + 1, one) for at, one in self._waiting)
        self._waiting = []
        self._top, self._at_top = [], True


def _broken(line: str) -> _Entry:
    """For a comment that something before it separates from its line."""
    return _BROKEN if MARK in line and any(end in line.rstrip() for end in _OTHER_ENDS) else ()


def _entry(match: re.Match[str] | None) -> _Entry:
    """The words of a comment by their kind; empty where it is about something else."""
    if match is None:
        return ()
    word, text = match[1], match[2].rstrip()  # a line may end in CRLF
    if word != _WORD:
        if not _is_misspelt(word.rstrip(":").lower()):
            return ()
        return (("problem", f"unknown word {shortened(word)!r}; write 'suppress'"),)
    if any(end in text for end in _OTHER_ENDS):  # what stands behind it may be no comment
        return _BROKEN
    rule, _, rest = text.partition(" ")
    return tuple({"rule": rule.rstrip(":"), **reason_and_settings(rest)}.items())


def _is_misspelt(word: str) -> bool:
    """True for ``suppress`` itself, and for what becomes it when one letter is inserted, deleted or
    replaced, or when two neighbours are swapped. Other words are of comments on other things."""
    same = _equal_at_start(word, _WORD)
    rest, right = word[same:], _WORD[same:]
    same = _equal_at_start(rest[::-1], right[::-1])
    rest, right = rest[: len(rest) - same], right[: len(right) - same]
    return max(len(rest), len(right)) <= 1 or (len(rest) == 2 and rest[::-1] == right)


def _equal_at_start(one: str, other: str) -> int:
    """How many characters two words have in common before they differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
