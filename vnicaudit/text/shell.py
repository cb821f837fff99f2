"""Split shell text into simple commands and their words. Nothing is expanded.

The grammar is that of POSIX sh with bash's extensions to words: quotes, ``$'…'``, ``$(…)``,
backticks, ``${…}``, ``$((…))``, here-documents and here-strings, redirections, process
substitution. Control structures need no special handling: the commands in them are commands.

Of a pasted command line, which may stand in prose or in a batch file, only quotes, escapes and
redirections of output have a meaning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.template_walk import HOLE

MAX_DEPTH = 40
"""Maximum depth of nested substitutions; deeper ones are treated as text."""

_LONGEST_ABOVE = 400
"""Maximum number of characters that are kept of the line above a here-document."""
_BLANK = " \t\r\f\v"
_ENDS_WORD = frozenset(f"{_BLANK}\n;&|()<>")
_ENDS_PASTED_WORD = _ENDS_WORD - set("()<")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!-]")
_REDIRECTION = re.compile(r"<<<|<<-?|[<>]\(|&>>?|[<>]&|<>|>\||>>?|<")
_PASTED_REDIRECTION = re.compile(r"&>>?|>[>|&]?")
_JOINT = re.compile(r"\\\r?\n")
_LINE_JOINT = re.compile(r"[\\^]\r?\n")
"""The end of a line that is continued, also that of a batch file."""
_PLAIN = re.compile(r"[^ \t\r\f\v\n;&|()<>$`\"'\\]+")
_QUOTED = re.compile(r"[^$`\"\\]+")
_TO_FILL_IN = re.compile(r"<[A-Za-z][\w.-]*>(?=\s|\Z)")
"""``<name>``, as in documentation; to a shell it would be two redirections, the second to nowhere
or to the following word."""
_PASTED_TO_FILL_IN = re.compile(r"<[A-Za-z_][\w.-]*>")
_PASTED_SUBSTITUTION = re.compile(r"\$\([^()\n]*\)")


class Word(NamedTuple):
    """One word, with quotes removed, and where it begins in the text. ``certain`` False: something
    in it is expanded; the text is then as written. ``splits``: it may become several words, or
    none. ``quoted``: all of it is in quotes."""

    text: str
    start: int
    certain: bool = True
    splits: bool = False
    quoted: bool = False


class HereDocument(NamedTuple):
    """A here-document: the line that it belongs to, and where its text begins and ends.
    ``dedented`` (``<<-``): the shell removes tabs at the beginning of its lines; ``literal``: it
    expands nothing."""

    line: str
    start: int
    end: int
    dedented: bool
    literal: bool


Command = tuple[Word, ...]


def commands(text: str) -> list[Command]:
    """All simple commands, inner ones (of ``$(…)``) before the command that contains them;
    here-documents are data and left out. This accepts any text."""
    lexer = ShellLexer(text)
    lexer.script("", 0)
    return lexer.found


class ShellLexer:
    """Reads the commands of a script, or one command.

    ``found`` are the commands of a script, ``documents`` its here-documents, ``at`` is where
    reading ended; ``problem`` says why the last word may be incomplete, None if it is not.
    """

    def __init__(
        self, text: str, at: int = 0, end: int | None = None, *, pasted: bool = False
    ) -> None:
        self.found: list[Command] = []
        self.documents: list[HereDocument] = []
        self.at = at
        self.problem: str | None = None
        self._text = text
        self._end = len(text) if end is None else end
        self._here: list[tuple[Word, bool]] = []
        self._pasted = pasted
        self._ends_word = _ENDS_PASTED_WORD if pasted else _ENDS_WORD
        self._ends_command = frozenset("\n;&|#" if pasted else "\n;&|#()")
        self._redirection = _PASTED_REDIRECTION if pasted else _REDIRECTION
        self._to_fill_in = _PASTED_TO_FILL_IN if pasted else _TO_FILL_IN

    def script(self, closing: str, depth: int) -> None:
        """Read commands up to ``closing``, or to the end."""
        while self.at < self._end:
            words = self.command(closing, depth)
            if words:
                self.found.append(tuple(words))
            char = self._text[self.at : self.at + 1]
            if char == closing:
                break
            if char == "#":
                self._skip_to_line_end()
                continue
            self.at += 1
            if char == "(" and depth < MAX_DEPTH:
                self.script(")", depth + 1)
            elif char == "\n":
                self._skip_here_documents()
        self.at += 1 if closing else 0

    def command(self, closing: str, depth: int = 0) -> list[Word]:
        """Read the words of one command, up to what ends it: a separator, a comment, ``closing``.
        The target of a redirection is not a word."""
        words: list[Word] = []
        while self.at < self._end:
            char = self._text[self.at]
            if char == closing:
                break
            if char in _BLANK:
                self.at += 1
            elif joint := _LINE_JOINT.match(self._text, self.at, self._end):
                self.at = joint.end()
            elif (
                redirection := self._redirection.match(self._text, self.at, self._end)
            ) and not self._to_fill_in.match(self._text, self.at, self._end):
                self._redirect(redirection.group(), words, closing, depth)
            elif char in self._ends_command:
                break
            else:
                words.append(self._word(closing, depth))
        return words

    def _skip_to_line_end(self) -> None:
        end = self._text.find("\n", self.at, self._end)
        self.at = self._end if end < 0 else end

    def _redirect(self, operator: str, words: list[Word], closing: str, depth: int) -> None:
        """Read a redirection and its word, which do not belong to the command; neither does a
        number before it."""
        before = self._text[self.at - 1] if self.at else ""
        if words and before.isdigit() and words[-1].text.isdigit() and words[-1].certain:
            words.pop()
        start = self.at
        self.at += len(operator)
        if operator.endswith("("):
            self.at = start
            self._substitution(")", len(operator), depth)
            words.append(Word(self._text[start : self.at], start, certain=False))
            return
        while self.at < self._end and self._text[self.at] in _BLANK:
            self.at += 1
        if self.at >= self._end or self._text[self.at] in self._ends_word:
            return
        word = self._word(closing, depth)
        if operator in ("<<", "<<-"):
            self._here.append((word, operator == "<<-"))

    def _skip_here_documents(self) -> None:
        line_start = self._text.rfind("\n", 0, self.at - 1) + 1 if self._here else self.at
        above = self._text[max(line_start, self.at - _LONGEST_ABOVE) : self.at]
        for ending, dedented in self._here:
            begin = self.at
            while self.at < self._end:
                start = self.at
                self._skip_to_line_end()
                line = self._text[start : self.at].rstrip("\r")
                self.at = min(self.at + 1, self._end)
                if (line.lstrip("\t") if dedented else line) == ending.text:
                    found = HereDocument(above, begin, start, dedented, ending.quoted)
                    self.documents.append(found)
                    break
        self._here.clear()

    def _word(self, closing: str, depth: int) -> Word:
        start = self.at
        parts: list[str] = []
        certain, splits, quoted = True, False, True
        while self.at < self._end:
            char = self._text[self.at]
            if char == "<" and (match := self._to_fill_in.match(self._text, self.at, self._end)):
                parts.append(match.group())
                self.at = match.end()
                certain = quoted = False
                continue
            if char in self._ends_word or char == closing:
                break
            joint = _JOINT.match(self._text, self.at, self._end)
            quoted = quoted and (char in "'\"" or joint is not None)
            if char in "$`" and not self._pasted:
                sure, may_split = self._expansion(parts, depth)
                certain, splits = certain and sure, splits or may_split
            elif char == '"':
                sure, may_split = self._double_quoted(parts, depth)
                certain, splits = certain and sure, splits or may_split
            elif char == "'":
                parts.append(self._until("'", 1))
            elif joint is not None:
                self.at = joint.end()
            elif char == "\\":
                self._escaped(parts)
            elif closing and (match := _PASTED_SUBSTITUTION.match(self._text, self.at, self._end)):
                parts.append(match.group())
                self.at = match.end()
            else:
                self._run(_PLAIN, parts)
        text = "".join(parts)
        return Word(text, start, certain and HOLE not in text, splits, quoted)

    def _run(self, pattern: re.Pattern[str], parts: list[str]) -> None:
        """Read plain text, at least one character."""
        match = pattern.match(self._text, self.at, self._end)
        text = self._text[self.at] if match is None else match.group()
        parts.append(text)
        self.at += len(text)

    def _until(self, ending: str, opening: int) -> str:
        """The text up to ``ending``; reading continues behind it."""
        start = self.at + opening
        end = self._text.find(ending, start, self._end)
        if end < 0:
            self.problem = f"a quotation mark {ending} is not closed"
            end = self._end
        self.at = min(end + len(ending), self._end)
        return self._text[start:end]

    def _escaped(self, parts: list[str]) -> None:
        if self.at + 1 >= self._end:
            self.problem = "ends in a continued line"
        parts.append(self._text[self.at + 1 : min(self.at + 2, self._end)])
        self.at = min(self.at + 2, self._end)

    def _double_quoted(self, parts: list[str], depth: int) -> tuple[bool, bool]:
        certain, splits = True, False
        self.at += 1
        parts.append("")  # "" is an empty word
        while self.at < self._end and (char := self._text[self.at]) != '"':
            if char in "$`" and not self._pasted:
                start = self.at
                sure, _splits = self._expansion(parts, depth)
                certain = certain and sure
                splits = splits or "@" in self._text[start : self.at]
            elif char == "\\" and self._text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                parts.append(self._text[self.at + 1])
                self.at += 2
            elif joint := _JOINT.match(self._text, self.at, self._end):
                self.at = joint.end()
            else:
                self._run(_QUOTED, parts)
        if self.at >= self._end:
            self.problem = 'a quotation mark " is not closed'
        self.at = min(self.at + 1, self._end)
        return certain, splits

    def _expansion(self, parts: list[str], depth: int) -> tuple[bool, bool]:
        """Read the expansion that ``$`` or a backtick begins. Returns whether its text is certain,
        and whether the shell may split it into words."""
        start = self.at
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
            self.at = match.end()
        else:
            parts.append("$")
            self.at += 1
            return True, False
        parts.append(text[start : self.at])
        return False, True

    def _substitution(self, closing: str, opening: int, depth: int) -> None:
        if depth >= MAX_DEPTH:
            self._until(closing, opening)
            return
        self.at += opening
        here, self._here = self._here, []
        self.script(closing, depth + 1)
        self._here = here

    def _parameter(self) -> None:
        """Read ``${…}``, including nested expansions."""
        depth = 0
        while self.at < self._end:
            char = self._text[self.at]
            self.at += 2 if char == "\\" else 1
            if char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
                if depth == 0:
                    break
        self.at = min(self.at, self._end)
