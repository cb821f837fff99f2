"""YAML text -> documents and places in them, each with its value and its position.

Each document of a file is parsed separately, so that an error in one leaves the others readable.
Templates are read after removing their syntax (:mod:`vnicaudit.text.yaml_source`); a place says
whether its value is certain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.text.beginning import PROMPT, is_only_placeholder
from vnicaudit.text.comment_walk import MARK, CommentEntry, accepting_comments
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_compose import NotYamlError, composed
from vnicaudit.text.yaml_source import Mapping, Node, Scalar, Sequence, YamlSource

# Comments in YAML that accept findings; text in a scalar that looks like one is ignored.


def yaml_comments(data: bytes, file: str) -> tuple[CommentEntry, ...]:
    """The comments of a file that accept findings; none from a document that is not YAML."""
    if MARK.encode() not in data:
        return ()
    try:
        source = YamlSource(data, file)
    except TargetError:  # the reader of the file reports it
        return ()
    text, parts, at = source.mask.text, list[str](), 0
    for start, end in _texts(source):
        parts += [text[at:start], text[start:end].replace("#", "x")]
        at = end
    return accepting_comments("".join([*parts, text[at:]]), "yaml")


def _texts(source: YamlSource) -> Iterator[tuple[int, int]]:
    """Ranges of text in which ``#`` begins no comment, in order."""
    text = source.mask.text
    for start, end in ranges_of(text):
        document = text[start:end]
        if MARK not in document:
            continue
        try:
            yield from composed(source, start, without_tabs(document)).hashes
        except NotYamlError:
            yield start, end


# Where each document of a YAML file begins and ends.

_MARKER = re.compile(r"^(---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_BLANK_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")
_OBJECT_LINE = re.compile(r"\{[^\n]*\}[ \t\r]*(?:\n|\Z)")
_NOTHING = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?(?:\n|\Z)|%[^\n]*(?:\n|\Z))*")


def ranges_of(text: str) -> Iterator[tuple[int, int]]:
    """The range of each document of a file. ``---`` and ``...`` at the beginning of a line are
    markers wherever they are (YAML 1.2, 9.1.2); in JSON Lines each line is a document."""
    lines = _json_lines(text)
    if len(lines) > 1:
        yield from lines
        return
    start, explicit = 0, False
    for match in _MARKER.finditer(text):
        filled = explicit or _NOTHING.fullmatch(text, start, match.start()) is None
        if match.group() == "---":
            if filled:
                yield start, match.start()
                start = match.start()
            explicit = True
        else:
            if filled:
                yield start, match.start()
            start, explicit = match.end(), False
    if explicit or _NOTHING.fullmatch(text, start) is None:
        yield start, len(text)


def _json_lines(text: str) -> list[tuple[int, int]]:
    """The range of each line that is not blank, if each holds a complete object; else nothing. No
    YAML document has two such lines."""
    if not text.lstrip().startswith("{"):
        return []
    lines, position = [], 0
    while position < len(text):
        match = _OBJECT_LINE.match(text, position)
        if match is not None:
            lines.append(match.span())
        else:
            match = _BLANK_LINE.match(text, position)
            if match is None:
                return []
        position = match.end()
    return lines


_TRUE = frozenset({"y", "yes", "true", "on"})
_FALSE = frozenset({"n", "no", "false", "off"})
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?\d{1,18}")
_PLACEHOLDER = re.compile(r"\$\(|\$\{|\$[A-Z_]|<[^<>]*>|@\w+@|%\w+%|\AENC\[")
"""Placeholders of envsubst, OpenShift templates, documentation, autoconf…, and what eyaml or SOPS
encrypted: replaced before the file is used."""
_PROMPT = re.compile(rf"\s*{PROMPT}(?:\S{{0,80}}/)?(?:kubectl|oc|virtctl|cat)[ \t][^\n]*")
"""The command that printed a document, as copied from a terminal."""
_TOKEN = re.compile(r"[ \t]*#\{[^{}\r\n]*\}(?:#(?=\s|\Z)|[ \t]*(?=\r?\n|\r?\Z))")
"""A placeholder of Azure's Replace Tokens; without quotes it is a comment to YAML."""


class YamlDocument(NamedTuple):
    """One document of a file. ``number`` is 1-based, over all documents; ``several``: the file has
    more than one. ``duplicates``: keys that occur twice in one mapping, first and second.
    ``pointer`` leads to the root if that is a part of the document. ``decoded``: an API answered
    it, so its texts are no placeholders."""

    source: YamlSource
    number: int
    several: bool
    root: Node
    duplicates: tuple[tuple[Scalar, Scalar], ...] = ()
    pointer: str = ""
    decoded: bool = False

    @property
    def top(self) -> YamlPlace:
        """The root of the document."""
        number = f"[{self.number}]" if self.several else ""
        return YamlPlace(self, self.root, number + self.pointer)


class YamlPlace:
    """A node with the path to it. Places in it are made once: readers ask for the same ones again
    and again.

    ``pointer`` is a JSON pointer, after the document's number if there are several. ``certain``
    False: in the rendered template it may be missing or have another value. ``shared`` True: it is
    in an anchored node or is merged, so that changing it changes another place too.
    """

    __slots__ = ("_inner", "certain", "document", "node", "pointer", "shared")

    def __init__(
        self,
        document: YamlDocument,
        node: Node,
        pointer: str,
        certain: bool = True,
        shared: bool = False,
    ) -> None:
        self.document = document
        self.node = node
        self.pointer = pointer
        self.certain = certain
        self.shared = shared
        self._inner: dict[str | int, YamlPlace | None] = {}

    def child(self, key: str) -> YamlPlace | None:
        """The value of a key; None if there is none, if it is null, or if this is not a mapping."""
        known = self._inner.get(key, self)  # itself: it was not asked for before
        if known is not self:
            return known
        node = self.node
        entry = node.entry(key) if isinstance(node, Mapping) else None
        place = entry and self._to(entry.value, entry.key.start, key, shared=entry.merged)
        found = None if place is None or (place.null and place.certain) else place
        self._inner[key] = found
        return found

    def copy(self, *, pointer: str | None = None, certain: bool | None = None) -> YamlPlace:
        """A copy with another value of what is given."""
        to = self.pointer if pointer is None else pointer
        is_certain = self.certain if certain is None else certain
        return YamlPlace(self.document, self.node, to, is_certain, self.shared)

    def at(self, *keys: str) -> YamlPlace | None:
        """The value at the end of a path of keys."""
        place: YamlPlace | None = self
        for key in keys:
            if place is None:
                return None
            place = place.child(key)
        return place

    def items(self) -> list[YamlPlace]:
        """The items of a list. A condition around an item makes nothing in it uncertain: if the
        item is there, it is as written."""
        count = len(self.node.items) if isinstance(self.node, Sequence) else 0
        return [item for number in range(count) if (item := self.item(number)) is not None]

    def item(self, number: int) -> YamlPlace | None:
        """One item of a list, by its 0-based number; None if there is none."""
        if not isinstance(self.node, Sequence) or not 0 <= number < len(self.node.items):
            return None
        if number not in self._inner:
            item = self._to(self.node.items[number], self.node.start, str(number))
            self._inner[number] = item
        return self._inner[number]

    def may_lack(self, inner: YamlPlace) -> bool:
        """True if a condition or a loop of a template contains ``inner`` but not this node."""
        return self.document.source.mask.conditional(self.node.start, inner.node.start)

    def names(self) -> list[str]:
        """The keys of a mapping."""
        return self.node.names() if isinstance(self.node, Mapping) else []

    @property
    def null(self) -> bool:
        """True if the node has no value."""
        node = self.node
        return isinstance(node, Scalar) and node.plain and node.text in _NULL

    @property
    def text(self) -> str | None:
        """The text of a scalar; None if this is not a scalar or is not certain."""
        if not self.certain or not isinstance(self.node, Scalar):
            return None
        text = self.node.text
        if self.document.decoded:
            return text
        return None if is_only_placeholder(text) or _PLACEHOLDER.search(text) else text

    @property
    def boolean(self) -> bool | None:
        """A boolean as YAML 1.1 of Kubernetes reads it (``yes``, ``on``); None if it is none."""
        if self.text is None or not isinstance(self.node, Scalar) or not self.node.plain:
            return None
        word = self.node.text
        if word not in (word.lower(), word.upper(), word.capitalize()):
            return None
        return True if word.lower() in _TRUE else False if word.lower() in _FALSE else None

    @property
    def integer(self) -> int | None:
        """A whole number; None if it is none."""
        if self.text is None or not isinstance(self.node, Scalar) or not self.node.plain:
            return None
        return int(self.node.text) if _INTEGER.fullmatch(self.node.text) else None

    @property
    def complete(self) -> bool:
        """True if all keys or items of the node are known: no template inserts more."""
        node, mask = self.node, self.document.source.mask
        if isinstance(node, Scalar):
            return self.certain
        if not self.document.source.template:
            return True
        column = self.document.source.line_column(node.start)[1] - 1
        if any(hole.indent in (column, 0) for hole in mask.inserted(node.start, node.end)):
            return False
        return not (isinstance(node, Mapping) and any(HOLE in key for key in node.children()))

    @property
    def line_column(self) -> tuple[int, int]:
        """The line and column at which the node begins."""
        return self.document.source.line_column(self.node.start)

    def _to(self, node: Node, start: int, step: str, *, shared: bool = False) -> YamlPlace:
        source = self.document.source
        certain = self.certain
        if source.template and certain:
            certain = not source.mask.conditional(self.node.start, start) and _is_said(node, source)
        if certain and isinstance(node, Scalar) and not node.text:
            certain = not _is_token(node, source)
        if "/" in step or "~" in step:
            step = step.replace("~", "~0").replace("/", "~1")
        pointer = f"{self.pointer}/{step}"
        return YamlPlace(
            self.document, node, pointer, certain, self.shared or shared or node.anchored
        )


def documents(
    data: bytes,
    file: str,
    wanted: Callable[[str], bool] | None = None,
    *,
    as_written: bool = False,
) -> Iterator[YamlDocument | TargetError]:
    """The documents of a file in order; for one that is not valid YAML, the error.

    ``wanted`` is called with the text of a document before it is parsed; if it returns False, the
    document is skipped. ``as_written``: the file is YAML before a template is rendered, such as
    variables of Ansible, and expressions are texts in it. Raises TargetError if the whole file
    cannot be read.
    """
    source = YamlSource(data, file, as_written=as_written)
    ranges = list(ranges_of(source.mask.text))
    for number, (start, end) in enumerate(ranges, 1):
        text = source.mask.text[start:end]
        if wanted is not None and not wanted(text):
            continue
        try:
            root, duplicates, _hashes = composed(source, start, _without_prompt(without_tabs(text)))
        except NotYamlError as error:
            yield _error(source, error)
            continue
        if root is not None:
            yield YamlDocument(source, number, len(ranges) > 1, root, duplicates)


def without_tabs(text: str) -> str:
    """The text with its tabs replaced: JSON may be indented by tabs, which YAML does not allow;
    strings of JSON contain none."""
    if "\t" in text and text.lstrip().startswith(("{", "[")):
        return text.replace("\t", " ")
    return text


def _without_prompt(text: str) -> str:
    """The text with its first line blanked if that is the command that printed the rest."""
    prompt = _PROMPT.match(text)
    return text if prompt is None else " " * prompt.end() + text[prompt.end() :]


def _error(source: YamlSource, error: NotYamlError) -> TargetError:
    line, _column = source.line_column(min(error.position, len(source.text)))
    written = source.text.split("\n")[line - 1]
    template = source.template or "${" in written or "<%" in written
    what = "a template that is not YAML until it is rendered" if template else "not YAML"
    return TargetError(f"{what}: {error.problem}", file=source.file, line=line)


def _is_token(node: Node, source: YamlSource) -> bool:
    """True if a seemingly empty value with a comment is a placeholder."""
    nothing = isinstance(node, Scalar) and node.plain and not node.text
    return nothing and _TOKEN.match(source.text, node.end) is not None


def _is_said(node: Node, source: YamlSource) -> bool:
    """True if the text of a node is literal: it contains no template expression, and none follows
    an empty one."""
    if not isinstance(node, Scalar):
        return True
    if HOLE in node.text:
        return False
    if node.text:
        return True
    following = source.mask.inserted(node.end, node.end + 4096)
    return not (following and not source.mask.text[node.end : following[0].start].strip())


__all__ = [
    "Mapping", "Node", "Scalar", "Sequence", "YamlDocument", "YamlPlace", "documents",
    "without_tabs",
]  # fmt: skip
