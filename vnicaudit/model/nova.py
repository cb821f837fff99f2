"""Nova's configuration as its files declare it: options with the place where each one stands."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.location import Location
from vnicaudit.model.nova_options import KnownOption, Release

_SHOWN = 5
"""Places named beside a finding's own."""


class NovaOption(msgspec.Struct, frozen=True):
    """One assignment. ``line`` is 1-based, where the assignment begins; ``column`` is where its
    name begins, ``value_column`` where its value does, if on the same line.

    ``section`` is as oslo.config compares it (lower case, but ``DEFAULT``); ``""`` when a template
    does not tell which section it ends up in. ``certain`` False: it may not be there, or not with
    this value, once the file is rendered (a template) or resolved (``$other_option``).
    ``present``: the line is there in any case, whether something overrides it or not.

    Where an old name was written, ``section`` and ``name`` are the current ones and ``alias`` is
    what stands there (``pci/passthrough_whitelist``). ``known`` None: no option that bears on NICs.
    """

    section: str
    name: str
    value: str
    file: str
    line: int
    certain: bool = True
    column: int | None = None
    value_column: int | None = None
    present: bool = True
    alias: str = ""
    known: KnownOption | None = None

    @property
    def written(self) -> str:
        """``[section] name`` as it stands in the file."""
        section, _, name = (self.alias or f"{self.section}/{self.name}").partition("/")
        return f"[{section}] {name}"

    @property
    def in_force(self) -> bool:
        """Whether Nova reads the option it assigns; True where that is not known."""
        return self.known is None or self.known.is_read


class NovaConfig(msgspec.Struct, frozen=True):
    """One file of a Nova service, seen together with the files the service reads beside it.

    ``options`` are in the order in which Nova reads them, over all those ``files``: the last one
    wins. Only what stands in ``file`` is judged; the others are there because they may override
    it. Options that can hold a credential are not kept. Of ``form`` flags is a file of the time
    before oslo.config (``--name=value``): Nova reads nothing of it. Not ``complete``: there may be
    options that are not seen here (a template includes something, a file cannot be read).
    """

    target: str
    file: str
    options: tuple[NovaOption, ...] = ()
    files: tuple[str, ...] = ()
    release: Release | None = None
    form: Literal["ini", "flags"] = "ini"
    complete: bool = True

    def winner(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, whichever file it stands in; None where none is."""
        return None if self.form == "flags" else _effective(self.options, section, name)

    def setting(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, if it stands in the judged file."""
        option = self.winner(section, name)
        return option if option is not None and option.file == self.file else None

    def written(self, section: str, name: str) -> NovaOption | None:
        """The last assignment in the judged file, whether it is in effect or not."""
        return _effective(self.own, section, name)

    @property
    def own(self) -> tuple[NovaOption, ...]:
        """The assignments in the judged file."""
        if len(self.files) <= 1:
            return self.options
        return tuple(option for option in self.options if option.file == self.file)

    @property
    def settings(self) -> tuple[NovaOption, ...]:
        """The assignments in the judged file that are in effect, of options that bear on NICs."""
        if self.form == "flags":
            return ()
        found: dict[tuple[str, str], NovaOption] = {}
        for option in reversed(self.options):
            name = (option.section, option.name)
            last = found.setdefault(name, option)
            if last.alias and not option.alias and last.file == option.file:
                found[name] = option
        return tuple(
            option
            for option in self.own
            if option.known is not None
            and option.known.is_read
            and (_is_multi(option) or option is found[option.section, option.name])
        )

    def values(self, section: str, name: str) -> tuple[NovaOption, ...]:
        """All assignments of an option that collects them (``MultiOpt``)."""
        return tuple(o for o in self.options if (o.section, o.name) == (section, name))

    def overridden(self, option: NovaOption) -> tuple[Location, ...]:
        """Where else it is set: the last places whose value this one overrides."""
        if _is_multi(option):
            return ()
        others = [o for o in self.values(option.section, option.name) if o is not option]
        return tuple(self.at(other) for other in others[-_SHOWN:])

    def at(self, option: NovaOption) -> Location:
        """Where an assignment stands: its value; its name where Nova does not read it so."""
        plain = option.known is None or option.known.status == "current"
        column = option.value_column if plain and option.value_column else option.column
        return Location(self.target, option.file, option.line, None, column)

    def field_of(self, option: NovaOption) -> str:
        """What a problem names it by: ``section/name``, and which one where there are several."""
        field = f"{option.section}/{option.name}"
        alike = [o for o in self.own if (o.section, o.name) == (option.section, option.name)]
        if option is self.written(option.section, option.name):
            return field
        return next((f"{field}#{n}" for n, o in enumerate(alike, 1) if o is option), field)

    def place(self, field: str | None) -> Location:
        """Where a field stands in the judged file; the file where it does not."""
        path, _, number = (field or "").partition("#")
        section, _, name = path.partition("/")
        option = self.written(section, name)
        if number:
            alike = [o for o in self.own if (o.section, o.name) == (section, name)]
            option = alike[int(number) - 1]
        return Location(self.target, self.file) if option is None else self.at(option)

    @property
    def libvirt(self) -> bool | None:
        """Whether nova-compute drives libvirt. An absent ``compute_driver`` counts as yes: other
        drivers have to be named, and option files are shared between services."""
        option = self.winner("DEFAULT", "compute_driver")
        if option is None:
            return True
        return "libvirt" in option.value.lower() if option.certain else None


def _is_multi(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    return form is not None and form.multi


def _effective(options: tuple[NovaOption, ...], section: str, name: str) -> NovaOption | None:
    """The last assignment; in one file the current name wins over an old one that follows it
    (oslo.config ``_Namespace._get_file_value``)."""
    found: NovaOption | None = None
    for option in reversed(options):
        if found is not None and option.file != found.file:
            break
        if option.name == name and option.section in (section, ""):
            if not option.alias:
                return option
            found = found or option
    return found
