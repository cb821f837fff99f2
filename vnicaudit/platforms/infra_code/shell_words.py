"""Split shell text into simple commands, as words with their places. Nothing is expanded.

The grammar is that of POSIX sh with bash's extensions to words: quotes, ``$'…'``, ``$(…)``,
backticks, ``${…}``, ``$((…))``, here-documents and here-strings, redirections, process
substitution. Control structures need no special handling: the commands in them are commands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from vnicaudit.text.template_walk import HOLE

MAX_DEPTH = 40
"""Maximum depth of nested substitutions; deeper ones are treated as text."""

_BLANK = " \t\r"
_ENDS_WORD = frozenset(" \t\r\n;&|()<>")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!-]")
_REDIRECTION = re.compile(r"<<<|<<-?|[<>]\(|&>>?|[<>]&|<>|>\||>>?|<")
_PLAIN = re.compile(r"[^ \t\r\n;&|()<>$`\"'\\]+")
_QUOTED = re.compile(r"[^$`\"\\]+")
_TO_FILL_IN = re.compile(r"<[A-Za-z][\w.-]*>(?=\s|\Z)")
"""``<name>``, as in documentation; to a shell it would be two redirections, the second to nowhere
or to the following word."""


class Word(NamedTuple):
    """One word, with quotes removed. ``certain`` False: something in it is expanded; the text is
    then as written. ``splits``: it may become several words, or none."""

    text: str
    line: int
    column: int
    certain: bool = True
    splits: bool = False


Command = tuple[Word, ...]


def commands(text: str) -> list[Command]:
    """All simple commands, inner ones (of ``$(…)``) before the command that contains them;
    here-documents are data and left out. This accepts any text."""
    lexer = _Lexer(text)
    lexer.script("", 0)
    return lexer.found


class _Lexer:
    def __init__(self, text: str) -> None:
        self.found: list[Command] = []
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._here: list[tuple[str, bool]] = []

    def script(self, closing: str, depth: int) -> None:
        """Read commands up to ``closing``, or to the end."""
        words: list[Word] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == closing:
                break
            if char in _BLANK:
                self._at += 1
            elif (length := self._continued()) > 0:
                self._at += length
            elif char == "#":
                self._skip_to_line_end()
            elif char == "(" and depth < MAX_DEPTH:
                words = self._flush(words)
                self._inner(")", depth)
            elif redirection := self._redirection():
                self._redirect(redirection, words, depth)
            elif char in ";&|()\n":
                words = self._flush(words)
                self._at += 1
                if char == "\n":
                    self._skip_here_documents()
            else:
                words.append(self._word(closing, depth))
        self._flush(words)
        self._at += 1 if closing else 0

    def _flush(self, words: list[Word]) -> list[Word]:
        if words:
            self.found.append(tuple(words))
        return []

    def _inner(self, closing: str, depth: int) -> None:
        self._at += 1
        self.script(closing, depth + 1)

    def _continued(self) -> int:
        """Length of a backslash and the line break behind it; 0 if there is none."""
        for end in ("\\\n", "\\\r\n"):
            if self._text.startswith(end, self._at):
                return len(end)
        return 0

    def _skip_to_line_end(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _redirection(self) -> str:
        match = _REDIRECTION.match(self._text, self._at)
        if match is None or _TO_FILL_IN.match(self._text, self._at):
            return ""
        return match.group()

    def _redirect(self, operator: str, words: list[Word], depth: int) -> None:
        """Read a redirection and its word, which do not belong to the command; neither does a
        number before it."""
        before = self._text[self._at - 1] if self._at else ""
        if words and before.isdigit() and words[-1].text.isdigit() and words[-1].certain:
            words.pop()
        start = self._at
        self._at += len(operator)
        if operator.endswith("("):
            self._at = start
            self._substitution(")", len(operator), depth)
            words.append(self._word_at(start, self._text[start : self._at], certain=False))
            return
        while self._at < len(self._text) and self._text[self._at] in _BLANK:
            self._at += 1
        if self._at >= len(self._text) or self._text[self._at] in _ENDS_WORD:
            return
        word = self._word("", depth)
        if operator in ("<<", "<<-"):
            self._here.append((word.text, operator == "<<-"))

    def _skip_here_documents(self) -> None:
        for ending, dedented in self._here:
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                stop = len(self._text) if end < 0 else end
                line = self._text[self._at : stop].rstrip("\r")
                self._at = min(stop + 1, len(self._text))
                if (line.lstrip("\t") if dedented else line) == ending:
                    break
        self._here.clear()

    def _word(self, closing: str, depth: int) -> Word:
        start = self._at
        parts: list[str] = []
        certain, splits = True, False
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "<" and (match := _TO_FILL_IN.match(self._text, self._at)):
                parts.append(match.group())
                self._at = match.end()
                certain = False
                continue
            if char in _ENDS_WORD or char == closing:
                break
            if char in "$`":
                sure, may_split = self._expansion(parts, depth)
                certain, splits = certain and sure, splits or may_split
            elif char == '"':
                sure, may_split = self._double_quoted(parts, depth)
                certain, splits = certain and sure, splits or may_split
            elif char == "'":
                parts.append(self._until("'", 1))
            elif char == "\\":
                self._escaped(parts)
            else:
                self._run(_PLAIN, parts)
        text = "".join(parts)
        return self._word_at(start, text, certain=certain and HOLE not in text, splits=splits)

    def _run(self, pattern: re.Pattern[str], parts: list[str]) -> None:
        """Read plain text, at least one character."""
        match = pattern.match(self._text, self._at)
        text = self._text[self._at] if match is None else match.group()
        parts.append(text)
        self._at += len(text)

    def _word_at(self, start: int, text: str, *, certain: bool, splits: bool = False) -> Word:
        line = bisect_right(self._lines, start)
        return Word(text, line, start - self._lines[line - 1] + 1, certain, splits)

    def _until(self, ending: str, opening: int) -> str:
        """The text up to ``ending``; reading continues behind it."""
        start = self._at + opening
        end = self._text.find(ending, start)
        end = len(self._text) if end < 0 else end
        self._at = min(end + len(ending), len(self._text))
        return self._text[start:end]

    def _escaped(self, parts: list[str]) -> None:
        length = self._continued()
        if length == 0:
            parts.append(self._text[self._at + 1 : self._at + 2])
        self._at += length or 2

    def _double_quoted(self, parts: list[str], depth: int) -> tuple[bool, bool]:
        certain, splits = True, False
        self._at += 1
        while self._at < len(self._text) and (char := self._text[self._at]) != '"':
            if char in "$`":
                start = self._at
                sure, _splits = self._expansion(parts, depth)
                certain = certain and sure
                splits = splits or "@" in self._text[start : self._at]
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\"):
                parts.append(self._text[self._at + 1])
                self._at += 2
            elif (length := self._continued()) > 0:
                self._at += length
            else:
                self._run(_QUOTED, parts)
        self._at += 1
        return certain, splits

    def _expansion(self, parts: list[str], depth: int) -> tuple[bool, bool]:
        """Read the expansion that ``$`` or a backtick begins. Returns whether its text is certain,
        and whether the shell may split it into words."""
        start = self._at
        text = self._text
        if text[start] == "`":
            self._substitution("`", 1, depth)
        elif text.startswith("$'", start):
            parts.append(self._until("'", 2))
            return "\\" not in parts[-1], False
        elif text.startswith("$((", start):
            self._until("))", 3)
        elif text.startswith("$(", start):
            self._substitution(")", 2, depth)
        elif text.startswith("${", start):
            self._parameter()
        elif match := _NAME.match(text, start + 1):
            self._at = match.end()
        else:
            parts.append("$")
            self._at += 1
            return True, False
        parts.append(text[start : self._at])
        return False, True

    def _substitution(self, closing: str, opening: int, depth: int) -> None:
        if depth >= MAX_DEPTH:
            self._until(closing, opening)
            return
        self._at += opening
        here, self._here = self._here, []
        self.script(closing, depth + 1)
        self._here = here

    def _parameter(self) -> None:
        """Read ``${…}``, including nested expansions."""
        depth = 0
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 2 if char == "\\" else 1
            if char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
                if depth == 0:
                    break
        self._at = min(self._at, len(self._text))
