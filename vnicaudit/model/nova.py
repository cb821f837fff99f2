"""Nova's configuration as its files declare it: options with the place where each one stands."""

from __future__ import annotations

import msgspec

from vnicaudit.model.location import Location

_TRUE = frozenset({"true", "1", "on", "yes"})
_MAX_DIGITS = 40
_FALSE = frozenset({"false", "0", "off", "no"})


class NovaOption(msgspec.Struct, frozen=True):
    """One assignment. ``line`` is 1-based, where the assignment begins.

    ``section`` is as oslo.config compares it (lower case, but ``DEFAULT``); ``""`` when a template
    does not tell which section it ends up in. ``certain`` False: it may not be there, or not with
    this value, once the file is rendered (a template) or resolved (``$other_option``).
    """

    section: str
    name: str
    value: str
    file: str
    line: int
    certain: bool = True


class NovaConfig(msgspec.Struct, frozen=True):
    """One file of a Nova service, seen together with the files the service reads beside it.

    ``options`` are in the order in which Nova reads them, over all those files: the last one wins.
    Only what stands in ``file`` is judged; the others are there because they may override it.
    Options that can hold a credential are not kept.
    """

    target: str
    file: str
    options: tuple[NovaOption, ...] = ()

    def winner(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, whichever file it stands in; None where none is."""
        return _last(self.options, section, name)

    def setting(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, if it stands in the judged file."""
        option = self.winner(section, name)
        return option if option is not None and option.file == self.file else None

    def written(self, section: str, name: str) -> NovaOption | None:
        """The last assignment in the judged file, whether it is in effect or not."""
        own = tuple(option for option in self.options if option.file == self.file)
        return _last(own, section, name)

    def place(self, field: str | None) -> Location:
        """Where ``section/name`` stands in the judged file; the file where it does not."""
        section, _, name = (field or "").partition("/")
        option = self.written(section, name)
        return Location(self.target, self.file, None if option is None else option.line)

    @property
    def libvirt(self) -> bool | None:
        """Whether nova-compute drives libvirt. An absent ``compute_driver`` counts as yes: other
        drivers have to be named, and option files are shared between services."""
        option = self.winner("DEFAULT", "compute_driver")
        if option is None:
            return True
        return "libvirt" in option.value.lower() if option.certain else None


def as_bool(text: str) -> bool | None:
    """A boolean as oslo.config reads it (``oslo_config.types.Boolean``); None when it is none."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def as_number(text: str) -> int | None:
    """An integer as oslo.config reads it (``oslo_config.types.Integer``); None when it is none, or
    has more digits than any option of Nova's can."""
    try:
        return int(text) if len(text) <= _MAX_DIGITS else None
    except ValueError:
        return None


def _last(options: tuple[NovaOption, ...], section: str, name: str) -> NovaOption | None:
    for option in reversed(options):
        if option.name == name and option.section in (section, ""):
            return option
    return None
