"""Comments in YAML that accept findings; text in a scalar that looks like one is ignored."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.text.comment_walk import CommentEntry, accepting_comments
from vnicaudit.text.comments import MARK
from vnicaudit.text.yaml_compose import NotYamlError, composed
from vnicaudit.text.yaml_nodes import without_tabs
from vnicaudit.text.yaml_ranges import ranges_of
from vnicaudit.text.yaml_source import YamlSource


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
