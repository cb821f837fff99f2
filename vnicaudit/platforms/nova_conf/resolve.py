"""What is written -> what Nova sees: old names, and ``$other_option`` in values.

Source: oslo.config ``ConfigOpts._substitute``, ``StrSubWrapper`` and ``Opt._get_from_namespace``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.nova_options import Release
from vnicaudit.platforms.nova_conf.options import Knowledge, Name, knowledge

_DEPTH = 8
"""References that refer to references, at most: oslo.config has no bound and fails on a circle."""

_REFERENCE = (
    r"(?i)\$(?:(?P<escaped>\$)|(?P<named>[_a-z][._a-z0-9]*)|\{(?P<braced>[_a-z][._a-z0-9]*)\})"
)
"""As ``string.Template`` with the ``idpattern`` of oslo.config."""


def as_of(config: NovaConfig, release: Release | None = None) -> NovaConfig:
    """The configuration as a release reads it; None is the newest that is known."""
    known = knowledge(None if release is None else release.number)
    options = tuple(_named(option, known) for option in config.options)
    resolved = msgspec.structs.replace(config, options=options, release=known.release)
    if not any("$" in option.value for option in options):
        return resolved
    references = _References(resolved, known)
    options = tuple(references.resolved(option) for option in options)
    return msgspec.structs.replace(resolved, options=options)


def _named(option: NovaOption, known: Knowledge) -> NovaOption:
    """The option under its current name, with what is known of it."""
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

    def __init__(self, config: NovaConfig, known: Knowledge) -> None:
        self._config = config
        self._known = known

    def resolved(self, option: NovaOption) -> NovaOption:
        """The option with its value filled in; uncertain where that cannot be done."""
        if "$" not in option.value:
            return option
        value = self._filled(option.value, option.section, _DEPTH)
        if value is None:
            return msgspec.structs.replace(option, certain=False)
        return msgspec.structs.replace(option, value=value)

    def _filled(self, text: str, section: str, depth: int) -> str | None:
        lost = False

        def value_of(match: re.Match[str]) -> str:
            nonlocal lost
            if match["escaped"]:
                return "$"
            value = self._value(match["named"] or match["braced"], section, depth)
            lost = lost or value is None
            return value or ""

        filled = re.sub(_REFERENCE, value_of, text.replace("\\$", "$$"))
        return None if lost else filled

    def _value(self, reference: str, section: str, depth: int) -> str | None:
        """The value of an option that is referred to: in its own section first, then in DEFAULT;
        None where there is none that Nova knows, or its value is not certain. DEFAULT is no group
        that a reference can name (NoSuchGroupError)."""
        if depth == 0 or reference.startswith("DEFAULT."):
            return None
        group, dot, name = reference.rpartition(".") if reference.count(".") < 2 else ("", "", "")
        places: list[Name] = [(group, name)] if dot else [(section, name), ("DEFAULT", name)]
        for place in places:
            if self._is_known(place):
                return self._of(place, depth)
        return None

    def _is_known(self, place: Name) -> bool:
        known = self._known.options.get(place)
        return known.is_read if known else place[1] in self._known.strings.get(place[0], ())

    def _of(self, place: Name, depth: int) -> str | None:
        option = self._config.winner(*place)
        if option is not None:
            if not option.certain:
                return None
            return self._spelled(place, self._filled(option.value, place[0], depth - 1))
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
