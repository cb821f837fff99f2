"""Makes text from a target safe to show: nothing in it can move the cursor, hide, or be a command.

Names come from files that anybody may have written. A terminal obeys escape sequences, a bidi
control reorders the text after it, and a zero-width character makes two names look alike; so each
of them is shown as Python would write it (``\\x1b``, ``\\n``, ``\\u202e``). Build servers read
commands from the output of jobs, so the start of a command is escaped in the same way.
"""

from __future__ import annotations

import re

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
    from vnicaudit.text.secrets import masked_message  # slow to load, and seldom needed

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


def annotation(*lines: str) -> str:
    """The message of a GitHub workflow command; line breaks only between ``lines``."""
    return "%0A".join(safe(line).replace("%", "%25") for line in lines)


def annotation_property(text: str) -> str:
    """The value of a property of a GitHub workflow command (``file=``, ``title=``)."""
    return safe(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
