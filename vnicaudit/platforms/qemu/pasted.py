"""Undo what copying did to command lines in a text: colours, HTML, hard wraps of a terminal,
arguments as a list or one a line. Each argument stays in its line.

Scripts, units and batch files are left as they are: their lines are run as they are written.
"""

from __future__ import annotations

import codecs
import html
import json
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.platforms.qemu.arguments import EVIDENCE, FLAGS, VALUED, parse_unquoted
from vnicaudit.platforms.qemu.faults import cut_off
from vnicaudit.platforms.qemu.words import WRAPPERS
from vnicaudit.text.beginning import FENCES, NO_BREAK_SPACE, PROMPT, is_program

_NAME = r"(?:qemu-system-[a-z0-9_]{1,40}|qemu-kvm|kvm)"
_PROGRAM = rf"(?:[^\s'\"`=,;|&<>(){{}}$%\0]{{0,200}}/)?{_NAME}"
_MORE = " …"
"""Appended to a command of which further arguments are not literal."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_MARKUP = re.compile(r"<(?:pre|code)\b|&(?:quot|gt|nbsp|#39|#34|#x27);", re.IGNORECASE)
_CLOSED = re.compile(r"</(?:pre|code|p|div|li|td|kbd|samp|tt|blockquote)>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:pre|code|p|div|li|td|tr|kbd|samp|tt|blockquote|span|b|i|em|strong|a|font|br|mark)"
    r"(?:\s[^<>\n]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|nbsp|#39|#34|#x27);")
_ASSIGNED = re.compile(r"\s*[A-Z_]{1,40}=\S{0,400}[ \t]+\\\r?\n")
_QUOTED = re.compile(r"^(?:>[ \t]?){1,9}", re.MULTILINE)
"""A quotation, or the prompt of a continued line."""
_NUMBERED = re.compile(r"(?<=\\\n)[ \t]*(?:[│|]|(?:[\w./-]{1,80}[:-])?\d{1,6}[\t:-])")
"""The number of a continued line, as ``cat -n`` and ``grep -n`` write it."""
_NULS = re.compile(rf"(?P<program>{_NAME})(?P<nul>\0|\^@|\\0)(?P<rest>-[^\n]*)")
_ITEM = r"\"(?:[^\"\\\n]|\\.)*\"(?![ \t]*:)|'(?:[^'\\\n]|\\.)*'(?![ \t]*:)"
_BETWEEN = r"(?:[\s,]|-(?=[ \t]))"
_STRINGS = re.compile(
    rf"(?P<quote>[\"'])(?P<program>{_PROGRAM})(?P=quote)"
    rf"(?P<items>(?:{_BETWEEN}|[\[\]]|[\"']?[Aa]rgs[\"']?:)+(?=[\"']-)(?:{_BETWEEN}*(?:{_ITEM}))+)"
)
"""A list of strings: JSON, YAML, Python, or one a line; the program may stand before the list."""
_BEFORE = re.compile(r"[\"']([^\"'\n]{0,80})[\"'][\s,-]*\Z")
"""The string before the program in a list."""
_ITEMS = re.compile(rf"((?:(?!{_ITEM})[^\"']|[\"'][Aa]rgs[\"'])*)({_ITEM})")
_GOES_ON = re.compile(r"\s*[,+%.]\s*[^\s\])}]")
"""Behind the strings of a list: an item that is not a literal."""
_ALONE = re.compile(
    rf"^(?P<lead>[ \t]*(?:-[ \t]+)?)(?P<program>{_PROGRAM})[ \t]*\r?\n"
    r"(?=[ \t]*(?:-[ \t]+)?[\"']?--?(?P<name>\w[\w-]*))",
    re.MULTILINE,
)
"""A program alone in its line, or as the first item of a list in YAML, before an option."""
_YAML_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_NAMED = re.compile(rf"(?<![\w.-]){_NAME}(?=[ \t])")
_OTHER = re.compile(
    rf"[ \t]*[\w+.-]{{1,40}}[ \t]+\d{{1,10}}[ \t]+\d|[ \t]*\d{{1,10}}[ \t]+(?:\?|pts/|tty)|{PROMPT}"
)
"""The columns of ``ps``, or a prompt, with which another command begins."""
_FIRST = re.compile(rf"(?<![\w.-])(?:qemu-system-|qemu-kvm)|^[ \t]*(?:{PROMPT})?kvm[ \t]")
_OPTION = re.compile(r"(?<=[ \t])--?(\w[\w-]*)(?=\s|\Z)")
_BEGINS = re.compile(r"--?(\w[\w-]*)(?=\s|\Z)")
_DATED = re.compile(r"\d{4}-\d\d-\d\d [\d:.]{8,20}\+\d{4}: ")
"""A line of libvirt in a log: the one behind it is another line."""
_NARROWEST = 60
_USUAL_WIDTHS = frozenset({80, 100, 120, 132, 160, 200})


def _windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("vnicaudit.windows", _windows)


def decoded(data: bytes) -> str:
    """Text in UTF-8; bytes that are not are read as Windows' code page 1252."""
    return data.decode("utf-8", "vnicaudit.windows").removeprefix("\ufeff")


def is_run(text: str) -> bool:
    """True for a program, whose lines are run as they are written; False for a command that begins
    with variables, as libvirt logs it."""
    return is_program(text) and _ASSIGNED.match(text) is None


def as_typed(text: str) -> str:
    """The text with its command lines as a shell takes them, each argument in its line."""
    unbroken = text.replace("\n", "")  # a terminal may wrap the name as well
    if "qemu" not in unbroken and "kvm" not in unbroken:
        return text
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if _MARKUP.search(text):
        text = _ENTITY.sub(_unescaped, _TAG.sub("", _CLOSED.sub(" ; ", text)))
    if is_run(text):
        return text
    text = _QUOTED.sub(_blanked, text)
    text = _NUMBERED.sub(_blanked, text)
    text = _NULS.sub(_from_nuls, text)
    text = _STRINGS.sub(_from_strings, text)
    text = "".join(_from_lines(text))
    return _unwrapped(text)


def _blanked(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _unescaped(match: re.Match[str]) -> str:
    return html.unescape(match.group()).replace(NO_BREAK_SPACE, " ")


def _from_nuls(match: re.Match[str]) -> str:
    words = match["rest"].removesuffix(match["nul"]).split(match["nul"])
    return shlex.join([match["program"], *words])


def _from_strings(match: re.Match[str]) -> str:
    """A list of strings as words of a shell, up to the first that is joined to the one before."""
    before = _BEFORE.search(match.string, max(0, match.start() - 100), match.start())
    if before is not None and before[1] not in WRAPPERS:
        return match.group()
    parts = [f";{match['program']}"]
    items = _ITEMS.findall(match["items"])
    commas = any("," in between for between, _item in items)
    goes_on = _GOES_ON.match(match.string, match.end()) is not None
    left = 0
    for between, item in items:
        lines = between.count("\n")
        if left or (commas and "," not in between):
            left += lines
            continue
        parts.append(" \\\n" * lines or " ")
        parts.append(shlex.quote(_string(item)))
    joined = commas and any("," not in between for between, _item in items)
    return "".join(parts) + (_MORE if goes_on or joined else "") + " ;" + "\n" * left


def _string(item: str) -> str:
    """The text of a literal of JSON or Python."""
    if item[0] == '"':
        try:
            return str(json.loads(item))
        except ValueError:
            pass
    return re.sub(r"\\(.)", r"\1", item[1:-1])


def _from_lines(text: str) -> Iterator[str]:
    """The text, with each command that has one argument a line as a continued command."""
    position = 0
    while (match := _ALONE.search(text, position)) is not None:
        yield text[position : match.end("program")]
        position = match.end()
        if match["name"] not in FLAGS and match["name"] not in VALUED:
            yield text[match.end("program") : position]
        else:
            words, end = _arguments(text, position, in_yaml="-" in match["lead"])
            if words:
                yield "".join(f" \\\n{word}" for word in words)
                yield "\n"
                position = end
            else:
                yield " \\\n"
    yield text[position:]


def _arguments(text: str, position: int, *, in_yaml: bool) -> tuple[list[str], int]:
    """The arguments in the lines from ``position`` on, quoted, and where the next line begins. No
    arguments: an option and its value are in one line."""
    words: list[str] = []
    value_follows, only_flags = False, True
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end].rstrip("\r")
        item = _YAML_ITEM.match(line) if in_yaml else None
        word = (item[1] if item else "" if in_yaml else line).strip()
        is_option = word.startswith("-") and len(word) > 1
        if not (is_option or value_follows or item) or not word or word.startswith(FENCES):
            break
        if in_yaml and word[0] in "|>{[&*!":
            words.append(_MORE.strip())
            break
        option, blank, _value = word.partition(" ")
        if blank and is_option and not value_follows and option.lstrip("-") in VALUED:
            if only_flags:
                return [], position
            words.append(_MORE.strip())  # two styles in one list
            break
        only_flags = only_flags and is_option
        value_follows = is_option and word.lstrip("-") not in FLAGS
        quoted = word[0] in "\"'" and word[-1] == word[0] and len(word) > 1
        words.append(shlex.quote(_string(word) if quoted else word))
        position = end + 1
    return words, position


def _unwrapped(text: str) -> str:
    """The text with the commands that a terminal wrapped: lines as wide as it, up to one that is
    shorter. They are joined into the first of these lines, if arguments follow."""
    lines = text.split("\n")
    widths = [len(line.rstrip("\r")) for line in lines]
    width = max(widths)
    if width < _NARROWEST:
        return text
    begin = None
    for number, line in enumerate(lines):
        if begin is None or _FIRST.search(line) or _OTHER.match(line):
            begin = number
        full = widths[number] == width and not _DATED.match(line)
        if full and number + 1 < len(lines):
            continue
        end = number if widths[number] == 0 else number + 1
        whole = _unbroken(lines[begin:end], width) if end - begin > 1 else None
        if whole is not None:
            lines[begin:end] = [whole, *[""] * (end - begin - 1)]
        begin = None
    return "\n".join(lines)


def _unbroken(lines: list[str], width: int) -> str | None:
    """The command in these lines, if the last one goes on with its arguments."""
    *full, last = (line.rstrip("\r") for line in lines)
    if any(line[-1] in "\\^" for line in full) or last.lstrip().startswith(FENCES):
        return None
    begins = _BEGINS.match(last)
    whole = "".join(full) + (" " if begins and _is_known(begins) else "") + last
    name = _NAMED.search(whole)
    if name is None or not parse_unquoted(whole[name.end() :].split()).has(*EVIDENCE):
        return None
    if any(map(_is_known, _OPTION.finditer(whole, len(whole) - len(last)))):
        return whole
    one_word = " " not in last.strip()
    if len(full) > 1:
        return whole if one_word or "=" in last else None
    is_end = one_word and any(char in last for char in "=,:0123456789")
    return whole if width in _USUAL_WIDTHS and (is_end or _is_cut(full[0])) else None


def _is_cut(line: str) -> bool:
    name = _NAMED.search(line)
    arguments = parse_unquoted(line[name.end() :].split()) if name else None
    return arguments is None or line.endswith(" -") or bool(arguments.problem or cut_off(arguments))


def _is_known(option: re.Match[str]) -> bool:
    return option[1] in FLAGS or option[1] in VALUED


# Characters that word processors, chats and browsers put in the place of what was typed.


_BLANKS = f"{NO_BREAK_SPACE}\u2007\u200b\u202f\u3000\ufeff"
_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u201f\u00ab\u00bb", "\u2018\u2019\u201a\u201b"
_DASHES = "\u2010\u2011\u2013\u2014\u2212"
_TYPED = str.maketrans(
    dict.fromkeys(_BLANKS, " ")
    | dict.fromkeys(_DOUBLE, '"')
    | dict.fromkeys(_SINGLE, "'")
    | dict.fromkeys(_DASHES, "-")
)
_CHANGED = re.compile(
    rf"(?P<blank>[{_BLANKS}])|(?<!\w)(?P<quote>[{_DOUBLE}{_SINGLE}])"
    rf"|(?<!\S)(?P<dash>[{_DASHES}])[{_DASHES}\u2012-]?(?P<option>\w[\w-]*)"
)
"""Within a word, a quote or a dash may belong to a name."""


class ChangedCharacter(NamedTuple):
    """A character that was not typed, and what is wrong with it."""

    position: int
    problem: str


def changed_character(text: str, start: int, end: int) -> ChangedCharacter | None:
    """The first character of a command that a paste changed, None if there is none."""
    for found in _CHANGED.finditer(text, start, end):
        char = found.group()[0]
        if found["blank"]:
            return ChangedCharacter(found.start(), "a no-break space where QEMU needs a blank")
        kind = "typographic quote" if found["quote"] else "dash"
        if found["quote"] or found["option"] in FLAGS or found["option"] in VALUED:
            needed = char.translate(_TYPED)
            return ChangedCharacter(found.start(), f"a {kind} {char} where QEMU needs {needed}")
    return None


def restored(words: list[str]) -> list[str]:
    """The words as they were typed; the same if a paste changed nothing in them."""
    written = "\n".join(words)
    typed = written.translate(_TYPED)
    return words if typed == written else typed.split()
