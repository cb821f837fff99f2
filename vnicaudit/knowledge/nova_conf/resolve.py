"""Options as written -> options as Nova sees them, with old names replaced and ``$other_option``
filled in.

Source: oslo.config ``Opt._get_from_namespace``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from vnicaudit.knowledge.nova_conf.options import Knowledge, knowledge, may_have
from vnicaudit.model.nova import Name, NovaConfig, NovaIndex, NovaOption, Release
from vnicaudit.text.beginning import is_only_placeholder

# References in values to other options (``$my_ip``), replaced as Nova replaces them.
#
# Source: oslo.config ``ConfigOpts._substitute`` and ``StrSubWrapper``.


_DEPTH = 32
"""Maximum depth of references to references: with a circle or a long chain oslo.config ends in
Python's RecursionError."""
_LONGEST = 64 * 1024
"""Maximum number of characters of one value after filling in."""
_MOST = 4 * 1024 * 1024
"""Maximum number of characters of all these values; further ones stay unresolved."""


_REFERENCE = (
    r"(?i)\$(?:(?P<escaped>\$)|(?P<named>[_a-z][._a-z0-9]*)|\{(?P<braced>[_a-z][._a-z0-9]*)\})"
)
"""Like ``string.Template`` with the ``idpattern`` of oslo.config."""


def _may_be_filled_in(match: re.Match[str]) -> bool:
    """True if an unresolved reference may be a placeholder that is filled in before Nova reads the
    file (envsubst, Terraform): ``$RINGS``, ``${rings}``. Nova's own names are in lower case."""
    name = (match["named"] or match["braced"] or "").removeprefix("DEFAULT.")
    return name != name.lower() or (match["braced"] == name and "." not in name)


class _Broken(msgspec.Struct, frozen=True):
    """A value that oslo.config certainly cannot compute; ``reason``: why not."""

    reason: str


_Value = str | _Broken | None
"""Result for a text with references; None: unknown."""


class References:
    """Replaces references to other options by their values."""

    def __init__(self, index: NovaIndex, known: Knowledge) -> None:
        self._index = index
        self._known = known
        self._values: dict[Name, _Value] = {}
        self._open: set[Name] = set()
        self._left = _MOST

    def resolved(self, option: NovaOption) -> NovaOption:
        """The option with its value filled in; marked uncertain if that is impossible."""
        if "$" not in option.value or not option.certain:
            return option
        if id(option) in self._index.last:
            # a reference back to it from here on is a circle
            self._open.add((option.section, option.name))
        value = self._filled(option.value, option.section)
        self._open.clear()
        if isinstance(value, _Broken):
            return msgspec.structs.replace(option, certain=False, broken=value.reason)
        if value is None:
            return msgspec.structs.replace(option, certain=False)
        return msgspec.structs.replace(option, value=value, raw=option.value)

    def _filled(self, text: str, section: str) -> _Value:
        """A text with every reference replaced; if one cannot be, the problem (or None)."""
        text = text.replace("\\$", "$$")
        parts: list[str] = []
        length = end = 0
        for match in re.finditer(_REFERENCE, text):
            name = match["named"] or match["braced"]
            value = "$" if match["escaped"] else self._value(name, section)
            if isinstance(value, _Broken) and _may_be_filled_in(match):
                return None
            if not isinstance(value, str):
                return value
            parts += (text[end : match.start()], value)
            end = match.end()
            length += len(value)
            if length > _LONGEST:
                return None
        self._left -= length
        return None if self._left < 0 else "".join([*parts, text[end:]])

    def _value(self, reference: str, section: str) -> _Value:
        """The value of a referenced option: in the same section first, then in DEFAULT; None if its
        value is uncertain, or if it is unknown whether Nova has it. DEFAULT is not a group that a
        reference can name (NoSuchGroupError)."""
        if reference.startswith("DEFAULT."):
            return _Broken(
                f"refers to ${{{reference}}}, but DEFAULT is not a group for oslo.config"
            )
        group, dot, name = reference.rpartition(".") if reference.count(".") < 2 else ("", "", "")
        places: list[Name] = [(group, name)] if dot else [(section, name), ("DEFAULT", name)]
        for place in places:
            if self._is_known(place):
                return self._value_of(place)
        return self._none_of(places, reference)

    def _none_of(self, places: list[Name], reference: str) -> _Broken | None:
        """The problem of a missing option (NoSuchOptError); None if a library may have it."""
        release = self._known.release
        if any(place in self._known.options for place in places):
            return _Broken(f"refers to ${reference}, which {release} does not have")
        if not any(may_have(*place) for place in places):
            return _Broken(f"refers to ${reference}, an option that Nova does not have")
        return None

    def _is_known(self, place: Name) -> bool:
        known = self._known.options.get(place)
        return known.is_read if known else place[1] in self._known.strings.get(place[0], ())

    def _value_of(self, place: Name) -> _Value:
        """The value of one option, computed once; None at the end of a long chain. oslo.config
        follows a circle until Python stops it (RecursionError)."""
        if place in self._open:
            return _Broken("refers to itself")
        if place in self._values:
            return self._values[place]
        if len(self._open) == _DEPTH:
            return None
        self._open.add(place)
        self._values[place] = value = self._computed_value(place)
        self._open.remove(place)
        return value

    def _computed_value(self, place: Name) -> _Value:
        option = self._index.winner(*place)
        if option is not None:
            if not option.certain:
                return None
            return self._spelled(place, self._filled(option.value, place[0]))
        known = self._known.options.get(place)
        form = None if known is None else known.form
        if form is None or form.kind in ("list", "map", "other"):
            return None
        return "" if form.default is None else form.default

    def _spelled(self, place: Name, value: _Value) -> _Value:
        """The text that ``str`` gives for oslo.config's value of an option; None if it is unknown,
        ``_Broken`` if Nova refuses the value."""
        known = self._known.options.get(place)
        form = None if known is None else known.form
        if form is None or not isinstance(value, str):
            return value
        if form.kind == "other":
            return None
        if not form.accepts(value):
            section, name = place
            return _Broken(f"refers to [{section}] {name}, whose value Nova does not take")
        if form.kind in ("list", "map"):
            return None
        spell: Callable[[str], str] = str.capitalize if form.kind == "bool" else str
        return spell(form.plain(value))


_TO_BE_CHANGED = re.compile(r"(?i)(?<![a-z])change_?me(?![a-z])")
"""What samples write in place of a value."""


def is_placeholder(value: str) -> bool:
    """True if the value is a placeholder that is filled in before Nova reads the file; a reference
    to another option may look similar, but is none."""
    if _TO_BE_CHANGED.search(value):
        return True
    return is_only_placeholder(value) and re.fullmatch(_REFERENCE, value.strip()) is None


def as_of(config: NovaConfig, release: Release | None = None) -> NovaConfig:
    """The configuration as a release reads it; None: the newest known release."""
    number = None if release is None else release.number
    index = _read_by(_Options(config.options), number)
    seen = msgspec.structs.replace(
        config,
        options=index.options,
        release=knowledge(number).release,
        release_assumed=release is None,
    )
    vars(seen)["index"] = index
    return seen


class _Options:
    """Options compared by identity, because comparing their values takes too long."""

    def __init__(self, options: tuple[NovaOption, ...]) -> None:
        self.options = options

    def __hash__(self) -> int:
        return id(self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Options) and self.options is other.options


@lru_cache(maxsize=4)
def _read_by(written: _Options, number: int | None) -> NovaIndex:
    """Options as a release reads them. The result is cached for the files that Nova reads
    together."""
    known = knowledge(number)
    options = tuple(_under_current_name(option, known) for option in written.options)
    index = NovaIndex(options)
    if not any("$" in option.value for option in options):
        return index

    references = References(index, known)
    return NovaIndex(tuple(references.resolved(option) for option in options))


def _under_current_name(option: NovaOption, known: Knowledge) -> NovaOption:
    """The option under its current name, with the facts known about it and its value as written in
    the file."""
    if option.raw:
        option = msgspec.structs.replace(option, value=option.raw, raw="")
    written = option.alias or f"{option.section}/{option.name}"
    section, _, name = written.partition("/")
    found = known.options.get((section, name))
    if found is None and option.known is None:
        return option
    alias = ""
    if found is not None and found.status == "alias":
        section, name, alias = found.section, found.name, written
    return msgspec.structs.replace(option, section=section, name=name, alias=alias, known=found)
