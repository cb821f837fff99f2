"""What is written -> what Nova sees: old names, and ``$other_option`` in values.

Source: oslo.config ``ConfigOpts._substitute``, ``StrSubWrapper`` and ``Opt._get_from_namespace``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from vnicaudit.model.nova import Name, NovaConfig, NovaIndex, NovaOption
from vnicaudit.model.nova_options import Release
from vnicaudit.platforms.nova_conf.options import Knowledge, knowledge
from vnicaudit.text.placeholders import whole

_DEPTH = 32
"""References that refer to references, at most: oslo.config ends on a circle, and on a long chain,
with Python's RecursionError."""
_LONGEST = 64 * 1024
"""Characters of one value that is filled in."""
_MOST = 4 * 1024 * 1024
"""Characters of all of them; what would come after them stays open."""

_REFERENCE = (
    r"(?i)\$(?:(?P<escaped>\$)|(?P<named>[_a-z][._a-z0-9]*)|\{(?P<braced>[_a-z][._a-z0-9]*)\})"
)
"""As ``string.Template`` with the ``idpattern`` of oslo.config."""


def is_placeholder(value: str) -> bool:
    """Whether something puts a value there before Nova reads the file. A reference to another
    option may look like that, and is none."""
    return whole(value) and re.fullmatch(_REFERENCE, value.strip()) is None


def as_of(config: NovaConfig, release: Release | None = None) -> NovaConfig:
    """The configuration as a release reads it; None is the newest that is known."""
    number = None if release is None else release.number
    index = _read_by(_Options(config.options), number, config.form)
    seen = msgspec.structs.replace(
        config,
        options=index.options,
        release=knowledge(number).release,
        release_assumed=release is None,
    )
    vars(seen)["index"] = index
    return seen


class _Options:
    """Options that are told from others by being the same ones: comparing them takes too long."""

    def __init__(self, options: tuple[NovaOption, ...]) -> None:
        self.options = options

    def __hash__(self) -> int:
        return id(self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Options) and self.options is other.options


@lru_cache(maxsize=4)
def _read_by(written: _Options, number: int | None, form: str) -> NovaIndex:
    """Options as a release reads them. Files that Nova reads together share what comes of it."""
    known = knowledge(number)
    options = tuple(_named(option, known) for option in written.options)
    index = NovaIndex(options)
    if form == "flags" or not any("$" in option.value for option in options):
        return index
    references = _References(index, known)
    return NovaIndex(tuple(references.resolved(option) for option in options))


def _named(option: NovaOption, known: Knowledge) -> NovaOption:
    """The option under its current name, with what is known of it, and its value as it stands
    in the file."""
    if option.raw:
        option = msgspec.structs.replace(option, value=option.raw, raw="")
    written = option.alias or f"{option.section}/{option.name}"
    section, _, name = written.partition("/")
    found = known.options.get((section, name))
    if found is None and option.known is None:
        return option
    if found is None or found.status != "alias":
        changes: dict[str, Any] = {"section": section, "name": name, "alias": "", "known": found}
    else:
        changes = {
            "section": found.section, "name": found.name, "alias": written, "known": found,
        }  # fmt: skip
    return msgspec.structs.replace(option, **changes)


class _References:
    """Replaces references to other options by their values."""

    def __init__(self, index: NovaIndex, known: Knowledge) -> None:
        self._index = index
        self._known = known
        self._values: dict[Name, str | None] = {}
        self._open: set[Name] = set()
        self._left = _MOST

    def resolved(self, option: NovaOption) -> NovaOption:
        """The option with its value filled in; uncertain where that cannot be done."""
        if "$" not in option.value or not option.certain:
            return option
        value = self._filled(option.value, option.section)
        if value is None:
            return msgspec.structs.replace(option, certain=False)
        return msgspec.structs.replace(option, value=value, raw=option.value)

    def _filled(self, text: str, section: str) -> str | None:
        """A text with every reference replaced; None from the first on that cannot be."""
        text = text.replace("\\$", "$$")
        parts: list[str] = []
        length = end = 0
        for match in re.finditer(_REFERENCE, text):
            name = match["named"] or match["braced"]
            value = "$" if match["escaped"] else self._value(name, section)
            if value is None:
                return None
            parts += (text[end : match.start()], value)
            end = match.end()
            length += len(value)
            if length > _LONGEST:
                return None
        self._left -= length
        return None if self._left < 0 else "".join([*parts, text[end:]])

    def _value(self, reference: str, section: str) -> str | None:
        """The value of an option that is referred to: in its own section first, then in DEFAULT;
        None where there is none that Nova knows, or its value is not certain. DEFAULT is no group
        that a reference can name (NoSuchGroupError)."""
        if reference.startswith("DEFAULT."):
            return None
        group, dot, name = reference.rpartition(".") if reference.count(".") < 2 else ("", "", "")
        places: list[Name] = [(group, name)] if dot else [(section, name), ("DEFAULT", name)]
        for place in places:
            if self._is_known(place):
                return self._of(place)
        return None

    def _is_known(self, place: Name) -> bool:
        known = self._known.options.get(place)
        return known.is_read if known else place[1] in self._known.strings.get(place[0], ())

    def _of(self, place: Name) -> str | None:
        """The value of one option, found once; None in a circle and at the end of a long chain."""
        if place in self._values:
            return self._values[place]
        if place in self._open or len(self._open) == _DEPTH:
            return None
        self._open.add(place)
        self._values[place] = value = self._found(place)
        self._open.remove(place)
        return value

    def _found(self, place: Name) -> str | None:
        option = self._index.winner(*place)
        if option is not None:
            if not option.certain:
                return None
            return self._spelled(place, self._filled(option.value, place[0]))
        known = self._known.options.get(place)
        form = None if known is None else known.form
        if form is None or form.kind == "other":
            return None
        return "" if form.default is None else form.default

    def _spelled(self, place: Name, value: str | None) -> str | None:
        """What ``str`` makes of the value that oslo.config made of the text."""
        known = self._known.options.get(place)
        form = None if known is None else known.form
        if value is None or form is None:
            return value
        if form.kind == "other" or not form.accepts(value):
            return None
        spell: Callable[[str], str] = str.capitalize if form.kind == "bool" else str
        return spell(form.plain(value))
