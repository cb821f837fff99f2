"""Keys and values of YAML as options of Nova, each at its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from vnicaudit.knowledge.nova_conf.options import options_named, section_of_misplaced
from vnicaudit.model.finding import Location
from vnicaudit.model.nova import Name, NovaConfig
from vnicaudit.platforms.nova_conf.read import OptionCollector, Spot, part_of_config, section_name
from vnicaudit.text.beginning import opened
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlPlace
from vnicaudit.text.yaml_source import Mapping, Scalar, Sequence

_SPELLED = re.compile(r"[-+]?(?:0[xob]?[0-9a-fA-F_]+|\d+_[\d_]*|\d+(?::\d+)+)")
"""A number that YAML 1.1 reads, and programs write, as another text: ``0x400``, ``1_024``."""
_FLAG = re.compile(r"(?:\A|,)\s*(?P<name>[\w.-]+)\s*=\s*(?!\s)(?P<value>[^=]*)(?:(?=,[^,=]*=)|\Z)")


def entries(place: YamlPlace) -> Iterator[tuple[str, Scalar, YamlPlace]]:
    """The entries of a mapping whose names are certain and whose values are not null: name, key and
    value."""
    if not isinstance(place.node, Mapping):
        return
    for name, entry in place.node.children().items():
        value = None if HOLE in name or opened(name) else place.child(name)
        if value is not None:
            yield name, entry.key, value


def text_of(place: YamlPlace) -> tuple[str, bool]:
    """A value as its program writes it into nova.conf, a list with commas between its items and a
    mapping as JSON; and True if that is certain: nothing is filled in."""
    if isinstance(place.node, Scalar):
        text = place.node.text.strip()  # as oslo.config does
        plain = not place.node.plain or _SPELLED.fullmatch(text) is None
        return text, place.text is not None and plain and not opened(text) and HOLE not in text
    if isinstance(place.node, Sequence):
        items = [text_of(item) for item in place.items()]
        return ",".join(text for text, _certain in items), all(certain for _, certain in items)
    found, certain = dict[str, str | int](), bool(place.names())
    for name, _key, value in entries(place):
        text, is_sure = text_of(value)
        found[name] = text if value.integer is None else value.integer
        certain = certain and is_sure
    return msgspec.json.encode(found).decode(), certain


class HomeSettings:
    """The options that one home sets in one part of a file, as they are found."""

    def __init__(self, place: YamlPlace, where: Location, home: str) -> None:
        self._where = replace(where, xpath=place.pointer or "/")
        self._collector = OptionCollector(where.file or where.target)
        self._home = home
        self._names: set[Name] = set()

    def config(self) -> Iterator[NovaConfig]:
        """The configuration, if it sets anything."""
        if self._names:  # of any option, also of those that are not kept
            yield part_of_config(self._collector, self._where, self._home)

    def add_sections(self, place: YamlPlace, prefix: str = "") -> None:
        """Add sections that hold options; an option outside of all belongs to DEFAULT. ``prefix``
        comes before section and option where people name one; empty: they name it as in
        nova.conf."""
        for section, key, body in entries(place):
            if not isinstance(body.node, Mapping):
                self.add(("DEFAULT", section), key, body, prefix and f"{prefix}{section}")
            for name, inner, value in entries(body):
                self._add_in(section, name, inner, value, prefix and f"{prefix}{section}.{name}")

    def _add_in(self, section: str, name: str, key: Scalar, value: YamlPlace, called: str) -> None:
        if not isinstance(value.node, Mapping) or not value.names():
            self.add((section, name), key, value, called)
            return
        kind, values = value.child("type"), value.child("values")
        if kind is not None and values is not None:  # OpenStack-Helm
            joined = kind.text == "csv"
            (self.add if joined else self.add_each)((section, name), key, values, called)
            return
        for text, entry in value.node.children().items():  # keys without values: OpenStack-Ansible
            at = (entry.key.start, -1)
            self._put((section, name), value, at, (text, HOLE not in text), called)

    def add_each(self, name: Name, key: Scalar, value: YamlPlace, called: str = "") -> None:
        """Add an option; the items of a list are several values of it."""
        for one in value.items() if isinstance(value.node, Sequence) else (value,):
            self.add(name, key, one, called)

    def add(self, name: Name, key: Scalar, value: YamlPlace, called: str = "") -> None:
        """Add an option, of a section and name, whose value follows a key."""
        quoted = value.document.source.written(value.node)[:1] in ("'", '"')
        self._put(name, value, (key.start, value.node.start + quoted), text_of(value), called)

    def add_part(self, name: Name, whole: YamlPlace, part: str, certain: bool) -> None:
        """Add an option whose value is a part of a text."""
        at = whole.document.source.text.find(part, whole.node.start, whole.node.end)
        self._put(name, whole, (max(at, whole.node.start), at), (part, certain))

    def add_flags(self, value: YamlPlace) -> None:
        """Add the options of ``config-flags``, ``name=value,name=value``, which belong to DEFAULT.
        Source: charm-helpers 99980625 (May 2026), ``config_flags_parser``: a colon before the first
        equals sign makes it YAML, which is not read."""
        text, certain = text_of(value)
        start = value.document.source.text.find(text, value.node.start, value.node.end)
        for flag in () if ":" in text.partition("=")[0] else _FLAG.finditer(text):
            at = (value.node.start, -1)
            if start >= 0:
                at = (start + flag.start("name"), start + flag.start("value"))
            said = (flag["value"].rstrip(), certain)
            self._put(("DEFAULT", flag["name"]), value, at, said, f"config-flags {flag['name']}")

    def _put(
        self,
        name: Name,
        place: YamlPlace,
        at: tuple[int, int],
        said: tuple[str, bool],
        called: str = "",
    ) -> None:
        """Add an option. ``at``: where its name and its value begin in the file (-1: it is not
        there as it is); ``said``: the value, and whether it is certain. The place of an option is
        the line of its value, unless its name is wrong."""
        section, option = section_name(name[0]), name[1]
        text, certain = said
        source = place.document.source
        line, column = source.line_column(at[0])
        value_line, value_column = source.line_column(max(at[1], 0))
        if at[1] >= 0 and not (
            options_named(section, option) or section_of_misplaced(section, option)
        ):
            line, column = value_line, value_column if value_line != line else column
        on_line = at[1] >= 0 and value_line == line
        spot = Spot(
            line,
            None if place.shared else column,  # an edit would change other places, too
            value_column if on_line and not place.shared else None,
            certain and place.certain,
            place.certain,
            called,
        )
        self._names.add(name)
        self._collector.add(section, option, text, spot)
