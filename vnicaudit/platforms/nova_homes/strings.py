"""A nova.conf inside a string of a YAML file (``25-nova-extra.conf: |``): read like a file, each
option at its own line."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import RHOSO, STRING
from vnicaudit.model.finding import AcceptingComment, Location
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.nova_conf.read import Parsed, parsed_text, part_of_config
from vnicaudit.platforms.nova_conf.recognise import begins_with_section, is_novas_file, looks_like
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlPlace
from vnicaudit.text.yaml_source import Scalar

_CUSTOM = "customServiceConfig"
"""Key of the operators' resources for the configuration of a service. Source: nova-operator
b3775364 (August 2026), api/v1beta1: a snippet of nova.conf in each template below ``nova``."""


def read_string(
    place: YamlPlace, where: Location, *, named: bool
) -> Iterator[NovaConfig | ReadError]:
    """The nova.conf in the text at a place, if there is one. ``named``: it is written to a file
    that Nova reads."""
    node = place.node
    if not isinstance(node, Scalar) or "[" not in node.text or "\n" not in node.text:
        return
    steps = place.pointer.split("/")
    named = named or is_novas_file(steps[-1].replace("~1", "/"))
    if steps[-1] == _CUSTOM:
        kind = place.document.top.child("kind")
        named = "nova" in steps or (kind is not None and str(kind.text).startswith("Nova"))
        if not named:  # the configuration of another service
            return
    if not looks_like(node.text.encode("utf-8", "replace")) and not (
        named and begins_with_section(node.text)
    ):
        return
    text, indent, line = _written(place, node)
    try:
        parsed = parsed_text(text, where.file or where.target)
    except TargetError as error:
        at = line + (error.line or 1) - 1 if indent is not None else line
        yield ReadError(error.message, error.file, at)
        return
    options = tuple(_placed(option, place, line, indent) for option in parsed.options)
    comments = () if indent is None else _comments(parsed, line)
    home = RHOSO if named and place.document.top.child("apiVersion") else STRING
    spot = replace(where, xpath=place.pointer)
    yield part_of_config(replace(parsed, options=options), spot, home, comments)


def _written(place: YamlPlace, node: Scalar) -> tuple[str, int | None, int]:
    """The text as it is written, with the expressions of a template; how far its lines are indented
    (None: they are not its lines in the file, as in quotes), and the line on which it begins."""
    source = place.document.source
    line, _column = source.line_column(node.start)
    written = source.written(node).split("\n")
    if not written[0].lstrip("&!").startswith("|") and " |" not in written[0]:
        return node.text, None, line
    covered = source.mask.text[node.start : node.end].split("\n")[1:]
    first = next((number for number, text in enumerate(covered) if text.strip()), 0)
    indent = len(covered[first].rstrip("\r")) - len(node.text.split("\n")[first])
    return "\n".join(text[indent:].rstrip("\r") for text in written[1:]), indent, line + 1


def _placed(option: NovaOption, place: YamlPlace, line: int, indent: int | None) -> NovaOption:
    """An option of the text, at its place in the file."""
    certain = option.certain and place.certain and HOLE not in option.value
    present = option.present and place.certain
    line += 0 if indent is None else option.line - 1
    if indent is None or place.shared:  # an edit would change other places, too
        return replace(
            option, line=line, column=None, value_column=None, certain=certain, present=present
        )
    return replace(
        option,
        line=line,
        column=option.column and option.column + indent,
        value_column=option.value_column and option.value_column + indent,
        certain=certain,
        present=present,
    )


def _comments(parsed: Parsed, line: int) -> tuple[AcceptingComment, ...]:
    return tuple(
        replace(one, line=one.line + line - 1, first=one.first + line - 1, last=one.last + line - 1)
        for one in parsed.comments
    )
