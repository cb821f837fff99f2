"""Split a pasted text into what it quotes: the fenced code of Markdown, the output of each
command behind a prompt, the XML of a page. Nothing is moved: lines keep their numbers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice

from vnicaudit.text.beginning import is_script, quotes_others

_LONGEST = 256 * 1024
_MOST = 50
"""Maximum size of a text, and number of its excerpts; one with more is not split."""
_FENCES = re.compile(rb"^[ \t>]{0,12}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_ESCAPED = re.compile(rb"&lt;(?:domain|interface)[ \t\r\n]")
_QUOTE = re.compile(rb"&(?:#x27|#39|#34|quot);")
_WORDS = (b"kubectl ", b"oc ", b"virtctl ", b"openstack ", b"glance ", b"qm ", b"onevm ", b"cat ")
"""Quick check: most texts contain none of these."""
_HOST = rb"(?:\[[^\]\n]{1,80}\]|[\w.-]{1,40}@[\w.-]{1,60}(?::[^\s$#%>]{0,80})?)[ ]?[$#%>]"
_COMMAND = (
    rb"(?:sudo[ \t]+)?(?:\S{0,80}/)?(?:kubectl|oc|virtctl|openstack|glance|qm[ \t]+config"
    rb"|onevm[ \t]+show|cat)[ \t][^\n]*"
)
_PROMPT = re.compile(
    rb"^[ \t]*(?:" + _HOST + rb"(?:[ \t][^\n]*)?|(?:[\w.~/:-]{0,80})[$%>][ \t]+" + _COMMAND
    + rb"|\#[ \t]+" + _COMMAND + rb"(?=\s{1,200}(?:[{\[]|\+--|\|)))$",
    re.MULTILINE,
)  # fmt: skip
"""A prompt with a host and any command, or none; one without, and a command that shows something.
Behind a bare ``#`` it may be a comment, so JSON or a table must follow."""
_SHOWN = re.compile(rb"[^\n]*?[$#%>][ \t]+" + _COMMAND)
_COLOUR = re.compile(rb"\x1b\[[\d;]{0,20}m")
_PREFIXES = tuple(
    re.compile(rb"\A" + prefix)
    for prefix in (
        rb"[ \t]{0,9}\d{1,6}\t",
        rb"\w{3} [ \d]\d \d\d:\d\d:\d\d \S{1,64} [\w./-]{1,40}(?:\[\d{1,9}\])?: ",
        rb"> ?",
        rb"\+",
    )
)
_BACKQUOTED = re.compile(rb"\A(\s*)`([^`]+)`\s*\Z")
_START = re.compile(rb"(?:\A|\n---[^\n]*)\s*\Z")


def excerpts(data: bytes) -> list[bytes]:
    """The excerpts that a text quotes, each with as many lines before it as in the text, and the
    rest of it; empty if it quotes nothing. A script is not split: its comments look like
    prompts."""
    if len(data) > _LONGEST:
        return []
    if _is_escaped(data):
        return [html.unescape(data.decode("utf-8", "surrogateescape")).encode("utf-8", "replace")]
    fenced = quotes_others(data)
    if not (fenced or any(word in data for word in _WORDS)) or is_script(data):
        return []
    parts = (part for piece in _fenced(data, fenced=fenced) for part in _outputs(piece))
    found = list(islice(parts, _MOST + 1))
    return found if len(found) <= _MOST and found != [data] else []


def without_prefixes(data: bytes) -> bytes | None:
    """The text without what stands before each of its lines (numbers, a journal's or a mail's
    prefix, the plus of a diff), colours, and single backquotes around it; None if it has none."""
    if len(data) > _LONGEST:
        return None
    text = _COLOUR.sub(b"", data)
    for pattern in _PREFIXES:
        if all(map(pattern.match, filter(bytes.strip, text.split(b"\n")))):
            text = b"\n".join(pattern.sub(b"", line, count=1) for line in text.split(b"\n"))
            break
    text = _BACKQUOTED.sub(rb"\1\2", text)
    return None if text == data else text


def _is_escaped(data: bytes) -> bool:
    """True for XML, or a text with quotes, as it stands in the source of a page."""
    if b"&" not in data or b"<domain" in data:
        return False
    no_quote = b"'" not in data and b'"' not in data
    return _ESCAPED.search(data) is not None or (no_quote and _QUOTE.search(data) is not None)


def _fenced(data: bytes, *, fenced: bool) -> Iterator[bytes]:
    """The inside of each fence, then the text around them."""
    if not fenced:
        yield data
        return
    around, position, mark = [], 0, b""
    for line in _FENCES.finditer(data):
        if not mark:
            around += [data[position : line.start()], b""]
            position, mark = line.end(), line[1]
        elif line[1].startswith(mark) and not line[2].strip():
            yield _placed(data, position, line.start())
            around.append(b"\n" * data.count(b"\n", position, line.end()))
            position, mark = line.end(), b""
    if mark:
        yield _placed(data, position, len(data))
    else:
        around.append(data[position:])
    yield b"".join(around)


def _outputs(data: bytes) -> Iterator[bytes]:
    """The output of each command; a line that only shows something is blanked, any other command
    stays, as it may be one that starts QEMU."""
    position = 0
    for prompt in _PROMPT.finditer(data):
        shown = _SHOWN.match(prompt.group()) is not None
        if _is_read_there(data, prompt):
            continue
        if prompt.start() > position and data[position : prompt.start()].strip():
            yield _placed(data, position, prompt.start())
        position = prompt.end() if shown else prompt.start()
    if not position:
        yield data
    elif data[position:].strip():
        yield _placed(data, position, len(data))


def _is_read_there(data: bytes, prompt: re.Match[bytes]) -> bool:
    """True for a command at the beginning of a YAML document, whose reader expects it there."""
    words = prompt.group()
    if not any(word in words for word in (b"kubectl ", b"oc ", b"virtctl ", b"cat ")):
        return False
    before = data[max(0, prompt.start() - 200) : prompt.start()]
    return not before.strip() or _START.search(before) is not None


def _placed(data: bytes, start: int, end: int) -> bytes:
    return b"\n" * data.count(b"\n", 0, start) + data[start:end]
