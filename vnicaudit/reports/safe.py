"""Text that is safe to show: encoded, without control codes, wrapped, coloured."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import zip_longest

import msgspec

from vnicaudit.text.secrets import masked_message

# Makes text from a target safe to show: nothing in it can move the cursor, hide, or be a command.
#
# Names come from files that anybody may have written. A terminal obeys escape sequences, a bidi
# control reorders the text after it, and a zero-width character makes two names look alike; so each
# of them is shown as Python would write it (``\x1b``, ``\n``, ``\u202e``). Build servers read
# commands from the output of jobs, so the start of a command is escaped in the same way.


_INVISIBLE = (
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f"
    "\U000e0100-\U000e01ef]"
)
"""Characters that are drawn as nothing although ``str.isprintable`` accepts them: joiners,
variation selectors, fillers (Unicode 15, Default_Ignorable_Code_Point) and the empty Braille
pattern."""

_COMMAND = r"(?<!\S):(?=:[A-Za-z_-])(?!:[0-9A-Fa-f]{1,4}(?![\w-]))|(?<=#)#(?=\w*\[)"
"""Start of a command for a CI runner: ``::name`` at the start of a line (GitHub; wrapping may put
it there; ``::1`` and ``::ffff:…`` are addresses), and anywhere ``##[name`` (GitHub, Azure
Pipelines), ``##vso[`` (Azure Pipelines), ``##teamcity[``. actions/runner, ActionCommand.cs;
azure-pipelines-agent, Command.cs."""

_AUTOLINK = r"(://)|(?i:(www)\.)"
_MARKDOWN = r"[\\`*_\[\]<>|~&$]"
_PINGS = r"[@#]"
_FORMULA = ("=", "+", "-", "@")


def safe(text: str) -> str:
    """The text with every unprintable or invisible character escaped.

    A byte of a file name that is not UTF-8 becomes ``\\xNN``. The result can be encoded as UTF-8
    and stays on one line.
    """
    if not (text.isprintable() and (text.isascii() or not re.search(_INVISIBLE, text))):
        text = "".join(map(_visible, text))
    if "::" in text or "##" in text:
        return re.sub(_COMMAND, lambda found: f"\\x{ord(found[0]):02x}", text)
    return text


def message(text: str) -> str:
    """A message that may quote a file, an address or another program, made safe, with secrets
    masked if their name shows that they are secrets."""
    return safe(masked_message(text))


def _visible(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # surrogateescape: one undecodable byte
        return f"\\x{ord(character) - 0xDC00:02x}"
    if character.isprintable() and not re.match(_INVISIBLE, character):
        return character
    return character.encode("unicode_escape").decode("ascii")


def markdown(text: str) -> str:
    """Text for paragraphs and table cells of GitHub-flavoured Markdown, without markup, links,
    mentions or issue references."""
    text = re.sub(_MARKDOWN, r"\\\g<0>", safe(text))
    text = re.sub(_AUTOLINK, lambda found: "\\://" if found[1] else f"{found[2]}\\.", text)
    # a backslash does not stop GitHub from notifying @somebody or linking #1; a code span does
    return re.sub(_PINGS, r"`\g<0>`", text)


def markdown_code(text: str) -> str:
    """The text as a code span that also fits in a table cell."""
    text = safe(text).replace("|", "\\|")
    runs = re.findall("`+", text)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    pad = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def csv_cell(text: str) -> str:
    """A cell that a spreadsheet shows as text and does not calculate."""
    text = safe(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_lines(rows: Iterable[Iterable[str | int | float | None]]) -> str:
    """Rows as CSV, for spreadsheets, R and pandas: lines that end with a line feed. Text is made
    safe; None becomes an empty cell."""
    text = io.StringIO()
    # quote all: some spreadsheets also split cells at semicolons
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(map(_csv_value, row) for row in rows)
    return text.getvalue()


def _csv_value(value: str | int | float | None) -> str:
    if value is None:
        return ""
    return csv_cell(value) if isinstance(value, str) else repr(value)


def annotation(*lines: str) -> str:
    """The message of a GitHub workflow command; line breaks only between ``lines``."""
    return "%0A".join(safe(line).replace("%", "%25") for line in lines)


def annotation_property(text: str) -> str:
    """The value of a property of a GitHub workflow command (``file=``, ``title=``)."""
    return safe(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


# Records -> JSON text that can always be encoded as UTF-8 and is safe to show on a terminal.


_encoder = msgspec.json.Encoder()
_COMMAND_ENCODE = re.compile(r"(?<=#)#(?=\w*\[)")
"""The second ``#`` of ``##[name``, a command for build servers that scan the output of jobs. In
JSON it can occur only in strings."""


def encode(value: object) -> str:
    """A value as JSON on one line.

    Unprintable characters, and what a build server would take for a command, are written as
    ``\\uNNNN``, which every JSON reader decodes. Lone surrogates (bytes of a file name that is not
    UTF-8) cannot be written like that in JSON: they are replaced by a visible escape.
    """
    try:
        return _escaped(_encoder.encode(value))
    except UnicodeEncodeError:
        return _escaped(_encoder.encode(_encodable(msgspec.to_builtins(value))))


def encode_items(values: Sequence[object]) -> str:
    """The items of a JSON array, one per line, separated by commas; no brackets."""
    try:
        lines = _encoder.encode_lines(values)[:-1]
    except UnicodeEncodeError:
        return ",\n".join(map(encode, values))
    # line breaks inside strings are written \\n, so every raw one is between two items
    return _escaped(lines.replace(b"\n", b",\n"))


def _escaped(data: bytes) -> str:
    text = data.decode()
    if "#" in text and "##" in text:  # searching for one character is far faster than for two
        text = _COMMAND_ENCODE.sub(r"\\u0023", text)
    if data.isascii() and "\x7f" not in text:
        return text
    return "".join(map(_character, text))


def _character(character: str) -> str:
    if character == "\n" or character.isprintable():
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value if _fits(value) else safe(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value


def _fits(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


# Wraps lines for a terminal. Nothing is ever cut: a word wider than the line gets a line of its
# own, so that paths and ids can be copied.


def width_of(text: str) -> int:
    """Width in terminal columns (two for most East Asian characters, none for colour)."""
    if "\x1b" in text:  # safe text has no escape sequences but those of Paint
        text = re.sub(_PAINTED, "", text)
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # loaded only for non-ASCII text

    return cell_len(text)


def wrap(text: str, width: int, first: str, rest: str) -> str:
    """``first`` and the text, broken between words, with further lines indented by ``rest``; ends
    with a line break."""
    if len(first) + width_of(text) <= width:
        return f"{first}{text}\n"
    return fold(text.split(" "), width, first, rest, " ")


def fold(words: Iterable[str], width: int, first: str, rest: str, gap: str) -> str:
    """Words joined by ``gap`` and never broken inside; further lines are indented by ``rest``."""
    lines: list[str] = []
    line, used, filled = first, len(first), False
    for word in words:
        size = width_of(word)
        if filled and used + len(gap) + size > width:
            lines.append(line.rstrip())
            line, used, filled = rest, len(rest), False
        line += f"{gap}{word}" if filled else word
        used += size + len(gap) * filled
        filled = True
    return "\n".join([*lines, line.rstrip(), ""])


def padded(cell: str, width: int, *, right: bool = False) -> str:
    """A cell with blanks behind it, or before it (``right``), up to the width of its column."""
    pad = " " * (width - width_of(cell))
    return pad + cell if right else cell + pad


def aligned(
    rows: Iterable[Sequence[str]], *, least: Sequence[int] = (), numbers: Collection[int] = ()
) -> list[list[str]]:
    """The cells of all rows, padded to the width of their column, which is at least ``least``.
    ``numbers``: right-aligned columns."""
    rows = list(rows)
    longest = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    widths = [max(pair) for pair in zip_longest(longest, least, fillvalue=0)]
    return [
        [padded(cell, widths[at], right=at in numbers) for at, cell in enumerate(row)]
        for row in rows
    ]


def hidden(number: int, what: str = "") -> str:
    """The line that replaces what is not shown: ``… 12 more (--verbose shows them)``."""
    return f"… {number:,} more{what and f' {what}'} (--verbose shows them)"


# Colour for terminals. Without colour, nothing is added, not even a reset.


_PLAIN = r"https?://[!-~]+"
_PAINTED = r"\x1b(?:\[[\d;]*m|\]8;;[^\x1b]*\x1b\\)"
"""What :class:`Paint` adds: colours, and the ends of hyperlinks."""

_STYLES = {
    "error": "bold white on red",
    "high": "bold red",
    "medium": "bold yellow",
    "low": "cyan",
    "info": "magenta",
    "crash": "bold magenta",
    "name": "bold",
    "quiet": "dim",
    "fix": "green",
    "added": "green",
    "removed": "red",
    "hunk": "cyan",
    "good": "bold green",
    "bad": "bold red",
}


class Paint:
    """Colours text by its meaning: a severity, a name, a fix…"""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, text: str) -> str:
        """The text, coloured; unchanged if colour is off, the text is empty or the style is
        unknown."""
        if not self._color or not text or style not in _STYLES:
            return text
        before, after = _codes(style)
        return f"{before}{text}{after}"

    def link(self, address: str, text: str) -> str:
        """The text as a hyperlink to ``address`` (OSC 8). Unchanged if colour is off, or if the
        address is empty or has unsafe characters."""
        if not self._color or not re.fullmatch(_PLAIN, address):
            return text
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


@cache
def _codes(style: str) -> tuple[str, str]:
    from rich.style import Style  # not loaded for a report without colour

    before, _, after = Style.parse(_STYLES[style]).render("|").partition("|")
    return before, after
