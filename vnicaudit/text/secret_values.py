"""Values of secrets in quotes, brackets and parentheses, at any place in a line and over any number
of lines: JSON, the flow style of YAML, lists and calls of HCL.

A new notation needs a sign in secret_signs.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.text.secret_names import is_harmless, is_secret_name, may_be_secret_name

# File names in messages that look like the name of a secret: ``/etc/passwd: not a domain``.

_FILE = re.compile(
    r"\.(?:xml|json|ya?ml|conf|cnf|cfg|ini|toml|tf|tfvars|hcl|j2|jinja2?|tmpl|tpl|txt|log|sh"
    r"|args|qcow2|img|iso|pem|orig|bak|sarif|csv)$",
    re.IGNORECASE,
)
_POSITION = re.compile(r"[\"']?:[ \t]?\d{1,9}(?::\d{1,9})?(?::(?=[ \t]|$)|$)", re.MULTILINE)
"""``:12:``, ``:12:4:``, ``: 3:``."""
_SENTENCE = re.compile(r"[\"']?:[ \t]{1,9}(?:[A-Za-z][a-z]{0,40}|\d{1,9})[ \t]{1,9}[\w'\"]")
"""A word or a number, followed by another word."""
_PAIR = re.compile(r"[\"']?:[ \t]{1,9}[\"']?(?P<name>[A-Za-z][\w.-]{0,60})[\"']?[ \t]{0,9}[:=]")
_SAID_OF_ONE = re.compile(
    r"[\"']?:[ \t]{1,9}(?:not|no|cannot|could|is|are|has|must|needs|neither|nothing)[ \t]{1,9}\w"
)
"""The beginning of a sentence about the name before it, whatever that is."""


def is_place(text: str, start: int, end: int) -> bool:
    """True if the text from ``start`` to ``end`` of a message is the name of the file that the
    message is about, and not a secret with a value. In doubt it is a secret."""
    name = text[start:end]
    if _SAID_OF_ONE.match(text, end):
        return True
    rooted = name.startswith(("/", "./", "../"))
    if not (rooted or "/" in name or _FILE.search(name[-9:])):
        return False
    if _POSITION.match(text, end):
        return True
    pair = _PAIR.match(text, end)
    if pair is not None and is_secret_name(pair["name"]):
        return True  # the value belongs to the second name
    named = rooted or _FILE.search(name[-9:]) is not None
    return named and _SENTENCE.match(text, end) is not None


_KEY = re.compile(
    r"(?<![\w./-])(?P<key>[\w./-]+)(?P<quote>[\"']?)(?P<sep>\s{0,99}(?:=>|[:=])\s{0,99})"
    r"(?P<tags>(?:[!&][\w./:!-]{0,99}[ \t]{1,9}){0,3})"
)
_QUOTED = re.compile(r"\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|'[^'\n]*(?:''[^'\n]*)*'")
_GOES_ON = re.compile(rf"(?:[\w$@%+=.~*!^-]|{_QUOTED.pattern})+")
"""The rest of what a shell reads as one word: ``'a'b"c"``."""
_CLOSING = {
    '"': re.compile(r"(?<!\\)(?:\\\\)*\"(?=[\s,;:}\])>|&/]|\Z)"),
    "'": re.compile(r"(?<!')'(?:'')*(?!')(?=[\s,;:}\])>|&/]|\Z)"),
}
"""A quote that ends a text of several lines; an apostrophe within a word does not."""
_CALL = re.compile(r"[A-Za-z_][\w.]{0,99}\(")
_IN_FLOW = re.compile(r"[^\s,}\]\"'${][^,}\]\n]*")
_PART = re.compile(
    r"\"(?:[^\"\\]|\\.)*(?P<double>\"?)|(?<!\w)'[^']*(?P<single>'?)|[{}\[\]()]"
    r"|<<[-~]?[\"']?(?P<marker>[A-Za-z_]\w{0,99})[\"']?[ \t]{0,99}\r?\n",
    re.DOTALL,
)
"""Tokens needed to find the end of a bracket: brackets, and texts in which brackets do not
count."""
_WORD_ALONE = re.compile(r"^[ \t]{0,99}(?P<word>[A-Za-z_]\w{0,99})[ \t\r]{0,99}$", re.MULTILINE)
_PAIRS = {"{": ("{[", "}]"), "[": ("{[", "}]"), "(": ("(", ")")}
_OPENS = re.compile(r"(?:[A-Za-z_][\w.]{0,99})?[(\[{]{1,9}[ \t\r]*")
_CLOSES = re.compile(r"[ \t]*[)\]}]{1,9}")
_MOST_UNCLOSED = 3
"""Maximum number of unclosed brackets. Everything behind the next one is hidden, because searching
for the end of each would take quadratic time."""

_BLOCK = re.compile(r"\b(?:variable|output)[ \t]{1,9}\"(?P<name>[\w-]{1,200})\"[ \t]{0,9}\{")
_SENSITIVE = re.compile(r"\bsensitive[ \t]{0,9}=[ \t]{0,9}true\b")
_DEFAULT = frozenset({"default", "value"})
_DEFAULT_TEXT = re.compile(
    r"\b(?:default|value)[ \t]{0,9}=[ \t]{0,9}<<[-~]?(?P<marker>[A-Za-z_]\w{0,99})[ \t]{0,9}\r?\n"
)

_PAIRED = re.compile(
    r"(?<![\w.-])name[\"']?\s{0,99}[:=]\s{0,99}[\"']?(?P<name>[\w.-]{1,200})[\"']?"
    r"\s{0,99},?\s{0,99}[\"']?value[\"']?\s{0,99}[:=][ \t]{0,99}"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',}\]|>][^\s,}\]]*)"
)
_PAIRED_BACKWARDS = re.compile(
    r"(?<![\w.-])value[\"']?\s{0,99}[:=][ \t]{0,99}"
    r"(?P<value>\"[^\"\n]{0,4096}\"|'[^'\n]{0,4096}'|[^\s\"',}\]|>][^\s,}\]]{0,200})"
    r"\s{0,99},?\s{0,99}[\"']?name[\"']?\s{0,99}[:=]\s{0,99}[\"']?(?P<name>[\w.-]{1,200})"
)


def masked_values(text: str, more: frozenset[str], stars: str, *, in_message: bool = False) -> str:
    """The text with stars in place of such values, with the same number of lines. ``more``: keys
    that hold secrets only in this text. ``in_message``: what a message says about a file is not a
    value."""
    for pairs in (_PAIRED, _PAIRED_BACKWARDS):
        text = pairs.sub(lambda found: _masked_pair(found, stars), text)
    text = "".join(_blocks(text, stars))
    return "".join(_parts(text, more, stars, in_message=in_message))


def _blocks(text: str, stars: str) -> Iterator[str]:
    """The text in parts, with stars for the defaults of Terraform variables that have a secret's
    name or are marked sensitive."""
    at = 0
    while found := _BLOCK.search(text, at):
        end = _end_of_bracket(text, found.end() - 1) or len(text)
        body = text[found.end() : end]
        yield text[at : found.end()]
        if is_secret_name(found["name"]) or _SENSITIVE.search(body):
            body = "".join(_parts(_without_text(body, stars), _DEFAULT, stars, in_message=False))
        yield body
        at = end
    yield text[at:]


def _without_text(body: str, stars: str) -> str:
    """The body of a block without its here-documents."""
    found = _DEFAULT_TEXT.search(body)
    if found is None:
        return body
    end = _end_of_heredoc(body, found.end(), found["marker"])
    lines = body[found.end() : end].split("\n")
    hidden = [_starred(line, stars) for line in lines[:-1]]
    return body[: found.end()] + "\n".join([*hidden, lines[-1]]) + body[end:]


def _masked_pair(found: re.Match[str], stars: str) -> str:
    """``{name: DB_PASSWORD, value: …}``, as in the environment of a container."""
    value = found["value"]
    if not is_secret_name(found["name"]) or is_harmless(value):
        return found[0]
    start, end = found.start("value") - found.start(), found.end("value") - found.start()
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found[0][:start]}{quote}{stars}{quote}{found[0][end:]}"


def _parts(text: str, more: frozenset[str], stars: str, *, in_message: bool) -> Iterator[str]:
    ends = _ValueEnds(text)
    at = 0
    while found := _KEY.search(text, at):
        secret = _is_of_secret(text, found, more)
        if secret and in_message and is_place(text, *found.span("key")):
            secret = False
        end = ends.of(found) if secret else found.end()
        value = text[found.end() : end]
        if not secret or is_harmless(value.strip("\"' \t\r\n")) or is_harmless(value):
            yield text[at : found.end()]
            at = found.end()
            continue
        start = found.start("tags")
        yield text[at:start]
        yield _hidden(text[start:end], stars)
        at = end
    yield text[at:]


def _is_of_secret(text: str, found: re.Match[str], more: frozenset[str]) -> bool:
    key = found["key"]
    if key in more or is_secret_name(key):
        return True
    if not may_be_secret_name(key):
        return False
    before = text[max(0, found.start() - 60) : found.start()].rpartition("\n")[2]
    return not before.strip(" \t-+?#;\"'{[")


class _ValueEnds:
    """Finds where values end. A quote or bracket that was not closed once is not searched for
    again."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._endless: set[str] = set()
        self._unclosed = 0

    def of(self, key: re.Match[str]) -> int:
        """The end of the value behind a key; its beginning if it is left to the line-by-line
        masking."""
        text, start = self._text, key.end()
        first = text[start : start + 1]
        if "\n" in key["sep"] and not (key["quote"] and ":" in key["sep"]):
            return start  # the next line does not belong to the key, except in JSON
        if first in ('"', "'"):
            return self._quoted(start, first)
        if first in ("{", "["):
            return self._bracketed(start, start)
        if "=" in key["sep"] and (call := _CALL.match(text, start)):
            return self._bracketed(start, call.end() - 1)
        return self._in_flow(key)

    def _quoted(self, start: int, quote: str) -> int:
        inline = _QUOTED.match(self._text, start)
        if inline is not None:
            more = _GOES_ON.match(self._text, inline.end())
            return inline.end() if more is None else more.end()
        closing = None
        if quote not in self._endless:
            closing = _CLOSING[quote].search(self._text, start + 1)
        if closing is None:
            self._endless.add(quote)
            return start
        return closing.end()

    def _bracketed(self, start: int, bracket: int) -> int:
        if self._unclosed >= _MOST_UNCLOSED:
            return len(self._text)
        end = _end_of_bracket(self._text, bracket)
        if end is None:
            self._unclosed += 1
            return start
        return end

    def _in_flow(self, key: re.Match[str]) -> int:
        """The end of a value in ``{password: two words, …}``."""
        text = self._text
        before = text[max(0, key.start() - 60) : key.start()].rstrip("\"' \t\r\n")
        if before[-1:] not in ("{", ",", "[") or key["sep"].strip(" \t") != ":":
            return key.end()
        value = _IN_FLOW.match(text, key.end())
        if value is None or not (key["quote"] or key["sep"].endswith((" ", "\t"))):
            return key.end()
        return key.end() + len(value[0].rstrip())


def _end_of_bracket(text: str, at: int) -> int | None:
    opening, closing = _PAIRS[text[at]]
    depth = 0
    while part := _PART.search(text, at):
        at = part.end()
        first = part[0][0]
        if part["marker"]:
            at = _end_of_heredoc(text, at, part["marker"])
        elif first in "\"'":
            if not (part["double"] or part["single"]):
                return None
        elif first in opening:
            depth += 1
        elif first in closing:
            depth -= 1
            if depth == 0:
                return at
    return None


def _end_of_heredoc(text: str, at: int, marker: str) -> int:
    """The position behind the line that holds only the marker; the end of the text if there is
    none."""
    for line in _WORD_ALONE.finditer(text, at):
        if line["word"] == marker:
            return line.end()
    return len(text)


def _hidden(value: str, stars: str) -> str:
    """A value as stars, with its quotes and its line breaks; a bracket on a line of its own is
    shown."""
    quote = value[0] if value[0] in "\"'" else ""
    if "\n" not in value:
        return f"{quote}{stars}{quote}"
    first, *middle, last = value.split("\n")
    shown = first if _OPENS.fullmatch(first) else f"{quote}{stars}{_line_end(first)}"
    ending = last if _CLOSES.fullmatch(last) else f"{_starred(last, stars)}{quote}"
    return "\n".join([shown, *(_starred(line, stars) for line in middle), ending])


def _starred(line: str, stars: str) -> str:
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return f"{indent}{stars}{_line_end(line)}" if line.strip() else line


def _line_end(line: str) -> str:
    return "\r" if line.endswith("\r") else ""
