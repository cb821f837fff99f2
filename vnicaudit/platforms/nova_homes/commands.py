"""Commands that set an option of nova.conf: ``crudini --set``, ``openstack-config --set`` and
devstack's ``iniset``, in shell scripts, Dockerfiles and YAML (tasks, cloud-init's ``runcmd``).

Source: crudini 0.9.6 (``crudini --set [OPTION]... FILE SECTION [PARAMETER] [VALUE]``, ``--del``,
and several of them; an empty section is DEFAULT), openstack-utils (``openstack-config`` runs
crudini), devstack 493835a6 ``inc/ini-config`` (``iniset [-sudo] FILE SECTION OPTION VALUE``).

A here-document of a script that is written to a nova.conf (``cat > nova.conf <<EOF``) is read like
that file. Source: POSIX.1-2024, *Shell Command Language*, 2.7.4.

Nothing is run: of several commands for one option the last one counts, and what ``--del`` removes
is not set.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import SCRIPT
from vnicaudit.model.file_kind import Content
from vnicaudit.model.finding import Location
from vnicaudit.model.nova import Name, NovaConfig
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.nova_conf.read import (
    OptionCollector,
    Spot,
    moved,
    parsed_text,
    part_of_config,
    section_name,
    text_of,
)
from vnicaudit.platforms.nova_conf.recognise import begins_with_section, is_novas_file, is_own
from vnicaudit.text.beginning import LineIndex, is_script, opened
from vnicaudit.text.shell import HereDocument, ShellLexer, Word

_TOOL = re.compile(
    r"(?<![\w.$/{-])(?:[\w./-]{0,80}/)?(crudini|openstack-config|iniset|inidelete)(?![\w.=-])"
)
_LONGEST = 2000
"""Maximum number of characters of one command."""
_VARIABLE = re.compile(
    r"(?m)^[ \t]*(?:(?:export|local|readonly)[ \t]+)?(\w{1,80})=[\"']?([^\s\"';]{1,200})"
)
_ONLY_PRINTED = re.compile(r"(?:^|\s)#|\b(?:echo|printf|usage)\b")
_TEST = re.compile(r"(?:^|[\s;&|!(])(?:\[|test\s|grep\s)")
_MARK = r"[ \t]*(?:(if|for|while|until|case)\b(?![ \t]*:)|(fi|done|esac)\b)"
_BLOCK = re.compile(rf"(?m)(?:^|[;&|]|\b(?:then|else|do)){_MARK}")
"""Where a condition or a loop of a shell begins or ends."""
_BLOCK_WITHIN = re.compile(rf"(?m)(?:^|[;&|:\"'-]|\b(?:then|else|do|RUN)){_MARK}")
"""The same in a Dockerfile or YAML, where prose may have these words."""
_WRITTEN = re.compile(
    r"(?:>|\btee(?=\s))(?:\s{1,9}-{1,2}[a-z-]{1,40})*\s*[\"']?([^\s\"';|&<>]{1,200})"
)
"""The file of a redirection or of ``tee``."""
_TABS = re.compile(r"(?m)^\t+")
_EXPANDS = re.compile(r"[$`\\]")
_FILLED_IN = re.compile(r"(?m)^[ \t]*[$`].*")
"""A line that an expansion makes."""
_LIST = re.compile(r"[\"']?\s*,")
_ITEM = re.compile(
    r"\s*(?:\"(?P<double>[^\"\n]*)\"|'(?P<single>[^'\n]*)'|(?P<plain>[^,\]\"'\n]*))\s*[,\]]?"
)


def read(content: Content) -> Iterator[NovaConfig | NotJudged | ReadError]:
    """The options of Nova that the commands of a file set; nothing if it has none."""
    text = text_of(content.data, content.path)
    is_shell = is_script(content.data)
    reader = _CommandReader(text, content.path, is_shell=is_shell)
    documents = deque(written_documents(text) if is_shell else ())
    for tool in _TOOL.finditer(text):
        while documents and documents[0].start < tool.start():
            yield from reader.take_document(documents.popleft())
        reader.take(tool)
    for document in documents:
        yield from reader.take_document(document)
    reader.remove()
    if reader.found.options:
        where = Location(content.target, content.path, xpath="nova.conf")
        yield part_of_config(reader.found, where, SCRIPT)
    if reader.unnamed:
        message = "a variable decides which option of [libvirt] this sets: not judged"
        yield NotJudged(message, content.path, reader.unnamed[0])


class _CommandReader:
    """Gathers in ``found`` what commands set. ``is_shell``: the whole text is a script, so its
    conditions are seen."""

    def __init__(self, text: str, file: str, *, is_shell: bool) -> None:
        self.found = OptionCollector(file)
        self._file = file
        self.unnamed: list[int] = []
        """Lines that set an option of [libvirt] whose name a variable holds."""
        self._text = text
        self._lines = LineIndex(text)
        self._removed: dict[Name, int] = {}
        self._maybe_removed: dict[Name, int] = {}
        """Option -> how many options had been set before."""
        self._variables = {match[1]: match[2] for match in _VARIABLE.finditer(text)}
        self._depths = _depths(
            list((_BLOCK if is_shell else _BLOCK_WITHIN).finditer(text)), is_shell
        )

    def take(self, tool: re.Match[str]) -> None:
        """Add what the command sets that begins here, or note what it removes."""
        start = tool.start()
        _line, column = self._lines.line_column(start)
        before = self._text[start - min(column - 1, _LONGEST) : start]
        if _ONLY_PRINTED.search(before):
            return
        certain = not (self._depth(start) or _is_tested(before))
        for operation in _operations(_words(self._text, tool, before)):
            self._add(operation, certain=certain)

    def take_document(self, document: HereDocument) -> Iterator[ReadError]:
        """Add the options of a nova.conf in a here-document."""
        line = self._lines.line_column(document.start)[0] - 1
        depth = self._depth(document.start)
        body, filled_in = self._text[document.start : document.end], 0
        if document.dedented:
            body = _TABS.sub("", body)
        if not document.literal:
            body, filled_in = _FILLED_IN.subn("", body)
        try:
            parsed = parsed_text(body, self._file)
        except TargetError as error:
            yield ReadError(error.message, error.file, line + (error.line or 1))
            return
        for option in parsed.options:
            expanded = not document.literal and _EXPANDS.search(option.value)
            indent = None if document.dedented else 0
            sure = not (depth or filled_in or expanded)
            self.found.options.append(moved(option, line, indent, sure=sure, present=not depth))
        self.found.rest_checksum = hash((self.found.rest_checksum, parsed.rest_checksum))

    def _depth(self, position: int) -> int:
        """Number of conditions and loops around a position."""
        return self._depths[bisect_right(self._depths, (position, len(self._text))) - 1][1]

    def remove(self) -> None:
        """Drop what was removed after it had been set."""
        kept = []
        for number, option in enumerate(self.found.options):
            name = (option.section, option.name)
            if number < self._removed.get(name, 0):
                continue
            unsure = number < self._maybe_removed.get(name, 0)
            kept.append(replace(option, certain=False, present=False) if unsure else option)
        self.found.options = kept

    def _add(self, operation: list[Word], *, certain: bool) -> None:
        if len(operation) < 4 or operation[0].text not in ("--set", "--del"):
            return
        action, file, section, name, value = (*operation, Word("", operation[3].start))[:5]
        path = self._variables.get(file.text.strip("${}"), file.text)
        is_novas = is_novas_file(path)
        # an option that only Nova has, in a file that a variable names, may be another program's
        if not (is_novas or (not file.certain and is_own(section.text, f"{name.text}="))):
            return
        option = (section_name(section.text or "DEFAULT"), name.text)
        if "$" in name.text and option[0] == "libvirt":
            self.unnamed.append(self._lines.line_column(name.start)[0])
        if action.text == "--del":
            (self._removed if certain else self._maybe_removed)[option] = len(self.found.options)
            return
        line, column = self._lines.line_column(value.start)
        column += self._text[value.start : value.start + 1] in ("'", '"')
        words = (section, name, value)
        sure = (
            certain
            and is_novas
            and all(
                # an escaped quote belongs to the string in which the whole command stands
                one.certain and not opened(one.text) and '"' not in one.text
                for one in words
            )
        )
        self.found.add(*option, value.text, Spot(line, column, column, sure, sure))


def written_documents(text: str) -> Iterator[HereDocument]:
    """The here-documents of a script that are written to a nova.conf, and begin like one."""
    if "<<" not in text:
        return
    lexer = ShellLexer(text)
    lexer.script("", 0)
    for document in lexer.documents:
        is_novas = any(map(is_novas_file, _WRITTEN.findall(document.line)))
        if is_novas and begins_with_section(text[document.start : document.end].lstrip()):
            yield document


def _depths(blocks: list[re.Match[str]], is_shell: bool) -> list[tuple[int, int]]:
    """Positions in a text, each with the number of conditions and loops around what follows; in a
    text that is no script, of those that end somewhere."""
    open_blocks: list[re.Match[str]] = []
    ended = set[re.Match[str]]()
    for match in blocks:
        if match[1]:
            open_blocks.append(match)
        elif open_blocks:
            ended |= {open_blocks.pop(), match}
    found, depth = [(0, 0)], 0
    for match in blocks if is_shell else filter(ended.__contains__, blocks):
        depth = max(0, depth + (1 if match[1] else -1))
        found.append((match.end(), depth))
    return found


def _is_tested(before: str) -> bool:
    """True if what stands before a command on its line decides whether it is run."""
    joint = max(before.rfind("&&"), before.rfind("||"))
    return joint >= 0 and _TEST.search(before, 0, joint) is not None


def _words(text: str, tool: re.Match[str], before: str) -> list[Word]:
    """The words behind a tool's name, as those of crudini; ``before``: the rest of its line."""
    end = min(len(text), tool.start() + _LONGEST)
    if _LIST.match(text, tool.end()):
        words = _listed(text, tool.end(), end)
    else:
        closing = next((mark for mark in "\"'`" if before.count(mark) % 2), "")
        lexer = ShellLexer(text, tool.end(), end)
        words = lexer.command(closing)
    action = {"iniset": "--set", "inidelete": "--del"}.get(tool[1])
    return [Word(action, tool.start()), *words] if action else words


def _listed(text: str, start: int, end: int) -> list[Word]:
    """The words of a command that is a list in JSON or YAML, behind its first."""
    line_end = text.find("\n", start, end)
    end = end if line_end < 0 else line_end
    words: list[Word] = []
    position = _LIST.match(text, start).end()  # type: ignore[union-attr]
    while position < end and text[position - 1] != "]":
        item = _ITEM.match(text, position, end)
        if item is None or item.end() == position:
            break
        name = item.lastgroup or "plain"
        words.append(Word(item[name].strip(), item.start(name)))
        position = item.end()
    return words


def _operations(words: list[Word]) -> Iterator[list[Word]]:
    """Each operation of a command: its action, and the words that belong to it."""
    operation: list[Word] = []
    is_adding = "--list" in [word.text for word in words]
    for word in words:
        if word.text in ("--set", "--del", "--get", "--merge"):
            yield operation
            operation = [word]
        elif not word.text.startswith("--") and word.text != "-sudo":
            # what ``--list`` adds to is not known
            operation.append(word._replace(certain=word.certain and not is_adding))
    yield operation
