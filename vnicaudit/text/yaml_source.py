"""The text of a YAML file, and the lines and columns of positions in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from itertools import accumulate
from typing import NamedTuple

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.text.beginning import LineIndex
from vnicaudit.text.template_walk import HOLE, Tag, Turn, is_opened, tags

# The nodes of a YAML document: content and position.


class Scalar(msgspec.Struct, gc=False):
    """A text. ``plain``: without quotes and tag, so it may be a number or a boolean."""

    start: int
    end: int
    text: str
    plain: bool
    anchored: bool = False


class Sequence(msgspec.Struct):
    """A list."""

    start: int
    end: int
    items: list[Node]
    anchored: bool = False


class Mapping(msgspec.Struct):
    """Keys and values as written, without applying merges (``<<``); see :meth:`children`."""

    start: int
    end: int
    pairs: list[tuple[Node, Node]]
    anchored: bool = False
    merged: dict[str, MappingEntry] | None = None

    def children(self) -> dict[str, MappingEntry]:
        """Key -> entry, with merges applied: the mapping's own keys win, then those merged first.
        If a key occurs twice, the last one counts."""
        if self.merged is None:
            self.merged = _children(self)
        return self.merged

    def entry(self, key: str) -> MappingEntry | None:
        """The entry of a key."""
        return self.children().get(key)

    def names(self) -> list[str]:
        """The keys."""
        return list(self.children())


Node = Scalar | Sequence | Mapping


class MappingEntry(NamedTuple):
    """One key of a mapping. ``merged``: it comes from another mapping, named by ``<<``."""

    key: Scalar
    value: Node
    merged: bool


def _children(mapping: Mapping) -> dict[str, MappingEntry]:
    own: dict[str, MappingEntry] = {}
    merged: dict[str, MappingEntry] = {}
    for key, value in mapping.pairs:
        if not isinstance(key, Scalar):
            continue
        if key.text == "<<" and key.plain:
            for source in value.items if isinstance(value, Sequence) else [value]:
                if isinstance(source, Mapping):
                    for name, entry in source.children().items():
                        merged.setdefault(name, entry._replace(merged=True))
        else:
            own[key.text] = MappingEntry(key, value, False)
    return own | {name: entry for name, entry in merged.items() if name not in own}


# Remove template syntax (Helm and other Go templates, Jinja) from YAML, keeping every position.
#
# Nothing is rendered. An expression becomes as many ``HOLE`` characters, and a statement on a
# line of its own becomes blanks. Positions inside a condition or a loop, and those where
# something unknown is inserted, are recorded. So the rest can be read as YAML, and a position in
# it is the same in the template.

_GAP = re.compile(r"\s*(?:\Z|(?=\{\{|\{%|\{#))")
"""Blanks up to the end, or to the next tag."""
_INDENT = re.compile(r"\bn?indent\s+(\d{1,3})|\bindent\((\d{1,3})")


class Insertion(NamedTuple):
    """Something unknown is inserted at ``start``, indented by ``indent``: as the tag says, or else
    the column of the tag."""

    start: int
    indent: int


class TemplateBlock(msgspec.Struct):
    """Text inside a condition or a loop: ``[start, end)``. Two blocks are either disjoint or
    nested."""

    start: int
    end: int

    def has(self, position: int) -> bool:
        """True if a position is in the block."""
        return self.start <= position < self.end


class Mask(NamedTuple):
    """A template as YAML. ``edges``: positions at which a block begins or ends, ordered;
    ``innermost``: the innermost block from each edge on, None outside of all."""

    text: str
    edges: tuple[int, ...] = ()
    innermost: tuple[TemplateBlock | None, ...] = ()
    insertions: tuple[Insertion, ...] = ()

    def inserted(self, start: int, end: int) -> tuple[Insertion, ...]:
        """Insertions between two positions."""
        first = bisect_right(self.insertions, (start - 1, 1 << 30))
        last = bisect_right(self.insertions, (end - 1, 1 << 30))
        return self.insertions[first:last]

    def conditional(self, outer: int, inner: int) -> bool:
        """True if a condition contains the position ``inner`` but not ``outer``."""
        edge = bisect_right(self.edges, inner)
        block = self.innermost[edge - 1] if edge else None
        # if the innermost block has it, so have all surrounding ones
        return block is not None and not block.has(outer)


def without_tags(text: str) -> Mask:
    """The template as YAML of the same length. Linear in its size."""
    walk = _YamlTemplateWalk(text)
    position = 0
    for tag in tags(text):
        walk.tag(tag)
        position = tag.end
    return walk.mask(position)


class _YamlTemplateWalk:
    """One pass over a template that gathers the rest."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._parts: list[str] = []
        self._taken = 0
        self._open: list[TemplateBlock] = []
        self._edges: list[int] = []
        self._innermost: list[TemplateBlock | None] = []
        self._insertions: list[Insertion] = []
        self._line = 0
        self._line_end = -1
        self._ends_in_tag = False
        self._blank_so_far = True

    def tag(self, tag: Tag) -> None:
        """Add the next tag."""
        text, start, end = self._source, tag.start, tag.end
        self._go_to(start)
        column = start - self._line
        alone = self._blank_so_far and self._nothing_behind(end)
        self._blank_so_far = alone
        self._line = max(self._line, text.rfind("\n", start, end) + 1)
        self._parts.append(text[self._taken : start])
        self._taken = end
        self._parts.append(tag.covered(" " if alone or tag.opener == "{#" else HOLE))
        turn = tag.turn
        self._block(turn, end)
        if alone and turn == "inserts" and (tag.opener == "{{" or tag.word == "include"):
            indent = _INDENT.search(tag.text)
            said = next((int(group) for group in indent.groups() if group), 0) if indent else column
            self._insertions.append(Insertion(start, said))

    def mask(self, end: int) -> Mask:
        """Return the whole template, including the text behind the last tag."""
        self._parts.append(self._source[max(end, self._taken) :])
        text = "".join(self._parts)
        return Mask(text, tuple(self._edges), tuple(self._innermost), tuple(self._insertions))

    def _go_to(self, start: int) -> None:
        """Note the line of the next tag, and whether it is the first thing on that line; earlier
        tags on a line of their own do not count."""
        line = self._source.rfind("\n", self._taken, start) + 1
        self._line = max(self._line, line)
        blank = not self._source[max(line, self._taken) : start].strip()
        self._blank_so_far = blank and (self._blank_so_far or line > 0)

    def _nothing_behind(self, end: int) -> bool:
        """True if only other tags, or nothing, follow a tag on its line."""
        text = self._source
        if end > self._line_end:
            line_end = text.find("\n", end)
            self._line_end = len(text) if line_end < 0 else line_end
            self._ends_in_tag = text[end : self._line_end].rstrip().endswith("}")
        gap = _GAP.match(text, end, self._line_end)
        return gap is not None and (self._ends_in_tag or gap.end() == self._line_end)

    def _block(self, turn: Turn, end: int) -> None:
        inside = turn in ("between", "ends") and bool(self._open)
        if turn != "begins" and not inside:
            return
        if inside:
            self._open.pop().end = end
        if turn != "ends":  # until it is closed, it extends to the end of the file
            self._open.append(TemplateBlock(end, len(self._source) + 1))
        self._edges.append(end)
        self._innermost.append(self._open[-1] if self._open else None)


MAX_BYTES = 8 * 1024 * 1024
"""Larger files are refused."""


class FilePosition(NamedTuple):
    """Where a part of a file begins: 1-based line and column, and the bytes before it. Line 0: the
    part is in no file."""

    line: int
    column: int
    offset: int


_BEGINNING = FilePosition(1, 1, 0)


class YamlSource:
    """The text of a file or of a part of one, and the lines and columns of positions in it.

    ``text`` is the file as written, without a byte order mark; positions are 0-based characters of
    it. ``at`` is where the part begins in the file.
    """

    def __init__(
        self, data: bytes, file: str, *, as_written: bool = False, at: FilePosition = _BEGINNING
    ) -> None:
        """``as_written``: expressions of a template are text. Raises TargetError if the text is too
        large or is not UTF-8."""
        line = at.line if at.offset else None
        if len(data) > MAX_BYTES:
            problem = f"larger than {MAX_BYTES >> 20} MiB: not read"
            raise TargetError(problem, file=file, line=line)
        self.file = file
        self.at = at
        if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise TargetError("UTF-16 is not supported; save it as UTF-8", file=file)
        self._mark = 3 if data.startswith(BOM_UTF8) else 0
        try:
            self.text = data[self._mark :].decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start + self._mark) + at.line
            raise TargetError("not UTF-8, which YAML must be", file=file, line=line) from None
        masked = not as_written and is_opened(self.text)
        self.mask = without_tags(self.text) if masked else Mask(self.text)
        self.template = self.mask.text is not self.text and self.mask.text != self.text
        self._lines = LineIndex(self.text)
        self._bytes: list[int] = []

    def line_column(self, position: int) -> tuple[int, int]:
        """1-based line, and 1-based column in characters."""
        line, column = self._lines.line_column(position)
        first = self.at.column - 1 if line == 1 else 0
        return self.at.line + line - 1, first + column

    def byte_offset(self, position: int) -> int:
        """The number of bytes of the file before a position."""
        if self.text.isascii():
            return self.at.offset + self._mark + position
        if not self._bytes:
            lines = self.text.split("\n")
            self._bytes = [0, *accumulate(len(line.encode()) + 1 for line in lines)]
        line, column = self._lines.line_column(position)
        before = self.text[position - column + 1 : position]
        return self.at.offset + self._mark + self._bytes[line - 1] + len(before.encode())

    def written(self, node: Node) -> str:
        """The text of a node exactly as in the file, with quotes and template expressions."""
        return self.text[node.start : node.end]
