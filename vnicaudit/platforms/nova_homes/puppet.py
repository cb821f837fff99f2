"""Puppet manifests: ``nova_config { 'libvirt/rx_queue_size': value => 1024 }``, and parameters of
puppet-nova's classes, ``class { 'nova::compute::libvirt': rx_queue_size => 1024 }``.

Source: Puppet's language reference (resources, conditional statements, strings), and puppet-nova
9e0b09f0 (June 2026), ``lib/puppet/type/nova_config.rb``. Nothing is evaluated: what depends on a
variable, or is inside a condition or a loop, is not certain. A definition of a class sets nothing:
the defaults of its parameters are those of Nova.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.homes import PUPPET, PUPPET_CLASSES
from vnicaudit.knowledge.nova_conf.options import knowledge, options_named
from vnicaudit.model.file_kind import Content
from vnicaudit.model.finding import AcceptingComment, Location
from vnicaudit.model.nova import Name, NovaConfig
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.nova_conf.read import (
    OptionCollector,
    Spot,
    part_of_config,
    section_name,
    text_of,
)
from vnicaudit.text.beginning import LineIndex
from vnicaudit.text.comment_walk import CommentEntry, accepting_comments

_TOKEN = re.compile(
    r"#[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|'(?P<single>(?:[^'\\]|\\(?:.|\Z))*)(?:'|\Z)|\"(?P<double>(?:[^\"\\]|\\(?:.|\Z))*)(?:\"|\Z)"
    r"|(?P<mark>=>|[{}:;,|])|(?P<word>-?(?:::)?\w+(?:(?:::|[.-])\w+)*)"
    r"|(?P<other>@\((?P<tag>[^)\n]{1,200})\)|\S)",
    re.DOTALL,
)
_LINES = re.compile(r"[^\n]+")
_CONDITIONS = frozenset({"if", "elsif", "else", "unless", "case", "|"})
"""Words before a block that may be passed over, or run several times (a lambda's ``|x| {``)."""
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_TOP = "manifest"
_SCOPES = frozenset({"node", "class", "define"})
_LIBVIRT = "nova::compute::libvirt"
_LARGEST = 1024 * 1024
"""Maximum number of characters of a manifest."""


class _Token(NamedTuple):
    """``kind``: ``single`` or ``double`` (a string, with its quotes), ``word``, ``mark``,
    ``other``, or ``end``."""

    kind: str
    text: str
    start: int

    @property
    def is_text(self) -> bool:
        """True for a string or a word."""
        return self.kind in ("single", "double", "word")

    @property
    def certain(self) -> bool:
        """True for a text in which nothing is filled in."""
        return self.is_text and not (self.kind == "double" and "$" in self.text)


_Value = list[_Token]
"""The tokens of a value; one if it is a literal."""


class _Setting(NamedTuple):
    """A value of an option. ``title``: what names the option; ``name``: that of the attribute;
    ``called``: how people name it."""

    option: Name
    title: _Token
    name: _Token
    value: _Value
    called: str


_Attributes = dict[str, tuple[_Token, _Value]]
"""Attributes of a resource by their names."""


def option_of(name: str) -> Name | str | None:
    """The option that a parameter of puppet-nova's classes sets, also a misspelt one
    (``nova::compute::libvirt::max_queues``); a message if Nova has such an option, and puppet-nova
    no such parameter."""
    in_class, _, parameter = name.rpartition("::")
    option = PUPPET_CLASSES.get(in_class, {}).get(parameter)
    if option is not None or in_class != _LIBVIRT:
        return option
    if options_named("libvirt", parameter):
        return "libvirt", parameter
    if ("libvirt", parameter) not in knowledge().options:
        return None
    return f"{name}: puppet-nova has no such parameter, and Puppet ignores it: not judged"


def read(content: Content) -> Iterator[NovaConfig | NotJudged]:
    """The options of Nova that a manifest sets, one configuration for each node, class or defined
    type in it. Raises TargetError if it is too large."""
    text = text_of(content.data, content.path)
    if len(text) > _LARGEST:
        raise TargetError("larger than 1 MiB: not read", file=content.path)
    reader = _ManifestReader(text, content.path)
    reader.read()
    comments = tuple(AcceptingComment(content.path, *one) for one in _comments(text))
    for part, found in reader.found.items():
        if found.options:
            where = Location(content.target, content.path, xpath=part)
            yield part_of_config(found, where, PUPPET, comments)
            comments = tuple(replace(one, reporter=False) for one in comments)
    yield from reader.not_judged


def _comments(text: str) -> tuple[CommentEntry, ...]:
    strings = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
    return accepting_comments(strings.sub(lambda one: one[0].replace("#", "_"), text), "code")


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of a manifest, without comments and the texts of heredocs (``@("END":json/L)``),
    which begin on the next line."""
    position, begin, end = 0, len(text), 0
    while (match := _TOKEN.search(text, position)) is not None:
        if match.start() >= begin:
            position, begin = end, len(text)
            continue
        position = match.end()
        if match["tag"]:
            line_end = text.find("\n", position)
            is_first = begin == len(text)
            begin = line_end if is_first and line_end >= 0 else begin
            tag = re.split("[:/]", match["tag"])[0].strip('" \t')
            end = _end_of_heredoc(text, begin if is_first else end, tag)
        if match.lastgroup is not None:
            yield _Token(match.lastgroup, match[match.lastgroup], match.start())


def _end_of_heredoc(text: str, begin: int, tag: str) -> int:
    """The end of the line that ends a heredoc: its tag, perhaps behind ``|``, ``-`` or both."""
    for line in _LINES.finditer(text, begin):
        if line.group().strip().lstrip("|").lstrip(" \t-") == tag:
            return line.end()
    return len(text)


class _ManifestReader:
    """One pass over the tokens of a manifest. ``found``: the options of each part."""

    def __init__(self, text: str, file: str) -> None:
        self.found: dict[str, OptionCollector] = {}
        self.not_judged: list[NotJudged] = []
        self._file = file
        self._tokens = list(_tokens(text))
        self._lines = LineIndex(text)
        self._at = 0
        self._part = _TOP

    def read(self) -> None:
        """Gather the options."""
        blocks: list[bool] = []  # around: True for one that is or is in a condition
        is_next = False
        while (token := self._take()).kind != "end":
            word = token.text if token.kind in ("word", "mark") else ""
            if word in ("nova_config", "class") and self._is_mark("{"):
                self._take()
                while self._resource(word, certain=not any(blocks[-1:])):
                    pass
            elif word in _SCOPES and not blocks:
                self._part = f"{word} {self._token.text}"
            elif word in _CONDITIONS:
                is_next = True
            elif word == "{":
                blocks.append(is_next or any(blocks[-1:]))
                is_next = False
            elif word == "}":
                del blocks[-1:]
                if not blocks:
                    self._part = _TOP

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "", 0)

    def _take(self) -> _Token:
        token = self._token
        self._at += 1
        return token

    def _is_mark(self, *marks: str) -> bool:
        return self._token.kind == "mark" and self._token.text in marks

    def _resource(self, kind: str, *, certain: bool) -> bool:
        """Read the titles of a resource, and its attributes. False if it is the last one before the
        closing brace, or none."""
        titles = []
        while not self._is_mark(":", ";", "{", "}", "=>") and self._token.kind != "end":
            titles.append(self._take())
        if not self._is_mark(":"):
            if self._is_mark("}"):
                self._take()
            return False
        self._take()
        attributes = {}
        while not self._is_mark(";", "}") and self._token.kind != "end":
            name = self._take()
            if (name.is_text or name.text == "*") and self._is_mark("=>"):
                self._take()
                attributes[name.text] = (name, self._value())
        for title in {title.text: title for title in titles}.values():
            if title.certain:
                self._add(kind, title, attributes, certain)
        return self._take().text == ";"

    def _value(self) -> _Value:
        """The tokens up to the comma, or the end, behind a value."""
        tokens: _Value = []
        depth = 0
        while self._token.kind != "end" and (depth or not self._is_mark(",", ";", "}")):
            token = self._take()
            depth += (token.text in _OPENING) - (token.text in _CLOSING) if not token.is_text else 0
            tokens.append(token)
        return tokens

    def _add(self, kind: str, title: _Token, attributes: _Attributes, certain: bool) -> None:
        """Add the options that one resource sets."""
        if kind == "nova_config":
            _name, ensure = attributes.get("ensure", (title, []))
            if "value" in attributes and [token.text for token in ensure] != ["absent"]:
                name, value = attributes["value"]
                self._set_nova_config(title, name, value, certain)
        else:
            self._add_class(title.text.removeprefix("::"), attributes, certain)

    def _add_class(self, in_class: str, attributes: _Attributes, certain: bool) -> None:
        is_known = in_class in PUPPET_CLASSES
        for parameter, (name, value) in attributes.items() if is_known else ():
            called = f"{in_class}::{parameter}"
            option = option_of(called)
            if isinstance(option, str):
                line = self._lines.line_column(name.start)[0]
                self.not_judged.append(NotJudged(option, self._file, line))
            elif option is not None:
                self._set(_Setting(option, name, name, value, called), certain)
        if in_class == "nova::config" and "nova_config" in attributes:
            self._add_hash(*attributes["nova_config"], certain)

    def _add_hash(self, key: _Token, tokens: _Value, certain: bool) -> None:
        """Add what a hash of options sets: ``{ 'libvirt/virt_type' => { value => kvm } }``."""
        for at, token in enumerate(tokens[:-2]):
            behind = [following.text for following in tokens[at + 1 : at + 3]]
            if behind == ["=>", "{"]:
                key = token
            elif behind[0] == "=>" and token.text == "value" and key.certain:
                value = tokens[at + 2 : at + 4]
                is_plain = value[-1].text in (",", "}", ";")
                self._set_nova_config(key, token, value[: 1 if is_plain else 2], certain)

    def _set_nova_config(self, title: _Token, name: _Token, value: _Value, certain: bool) -> None:
        section, slash, option = title.text.partition("/")
        if slash:
            named = (section_name(section), option)
            called = f"nova_config {title.text}"
            self._set(_Setting(named, title, name, value, called), certain)

    def _set(self, setting: _Setting, certain: bool) -> None:
        option, title, name, value, called = setting
        if [token.text for token in value if token.kind == "word"] == ["undef"]:
            return
        is_literal = len(value) == 1 and value[0].certain
        text = value[0].text if is_literal else "".join(token.text for token in value)
        known = knowledge().options.get(option)
        at = name if known is not None and known.status == "current" else title
        place = value[0] if value and at is name else at
        line, column = self._lines.line_column(place.start)
        column += place.kind in ("single", "double")
        sure = certain and is_literal
        spot = Spot(line, column, column, sure, sure, called)
        found = self.found.setdefault(self._part, OptionCollector(self._file))
        found.add(*option, text, spot)
