"""Nova's configuration as its files declare it: options with the place of each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import msgspec

from vnicaudit.model.finding import Description, Location, Ref

# Known options of Nova: the releases that have them, and the values they accept.


class Release(msgspec.Struct, frozen=True, array_like=True):
    """A release of Nova. ``number`` orders them; ``version`` is Nova's own, ``coordinated`` that of
    OpenStack as a whole if it differs (2024.1)."""

    number: int
    name: str
    version: str
    coordinated: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.version})"


class OptionForm(msgspec.Struct, frozen=True):
    """The values that an option accepts, as declared to oslo.config. ``kind`` other: of a type
    whose values are not judged here; list: of words that each have to be one of the ``choices``;
    map: of ``NAME:VALUE`` pairs. ``default`` None: there is none, or it is computed."""

    kind: Literal["bool", "int", "float", "str", "list", "map", "other"]
    multi: bool = False
    choices: tuple[str, ...] = ()
    ignore_case: bool = False
    low: float | None = None
    high: float | None = None
    default: str | None = None

    def accepts(self, text: str) -> bool:
        """True if oslo.config can convert the text (``oslo_config.types``)."""
        if self.kind == "bool":
            return as_bool(text) is not None
        if self.kind in ("int", "float"):
            return not text.strip() or self._in_range(text)
        if self.kind == "map":
            return _is_map(text)
        if self.kind == "list":
            return all(self._is_choice(item) for item in _items(text))
        return self.kind == "other" or not self.choices or self._is_choice(text)

    def plain(self, text: str) -> str:
        """One spelling for all values with the same meaning."""
        number = as_number(text) if self.kind == "int" else None
        truth = as_bool(text) if self.kind == "bool" else None
        return str(truth).lower() if truth is not None else text if number is None else str(number)

    @property
    def words(self) -> str:
        """Description of the accepted values, to complete "Nova takes …"."""
        if self.kind == "bool":
            return "true or false"
        if self.kind == "map":
            return "NAME:VALUE pairs with commas between them"
        if self.choices:
            many = "words with commas between them, of " if self.kind == "list" else ""
            return f"{many}{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        kind = "a whole number" if self.kind == "int" else "a number"
        if self.high is not None:
            return f"{kind} from {self.low or 0:g} to {self.high:g}"
        return kind if self.low is None else f"{kind} from {self.low:g}"

    def _in_range(self, text: str) -> bool:
        number = as_number(text) if self.kind == "int" else _as_float(text)
        if number is None:
            return False
        if self.choices:
            return str(number) in self.choices
        below = self.low is not None and number < self.low
        return not below and not (self.high is not None and number > self.high)

    def _is_choice(self, text: str) -> bool:
        if self.ignore_case:
            return text.lower() in [choice.lower() for choice in self.choices]
        return text in self.choices


class KnownOption(msgspec.Struct, frozen=True):
    """An option as known by the release that is judged.

    ``section`` and ``name`` are its current ones. ``status`` of the written option: ``current``;
    ``deprecated``, still read; ``alias``, read under an old name; ``removed`` or ``future``, not
    read. ``form`` None: it is not read, or its form in that release is unknown.
    """

    section: str
    name: str
    status: Literal["current", "deprecated", "alias", "removed", "future"]
    form: OptionForm | None = None
    since: Release | None = None
    deprecated: Release | None = None
    removed: Release | None = None
    note: str = ""
    """If it was removed, what replaced it."""

    @property
    def is_read(self) -> bool:
        """True if Nova reads the option."""
        return self.status in ("current", "deprecated", "alias")


_TRUE = frozenset({"true", "1", "on", "yes"})
_FALSE = frozenset({"false", "0", "off", "no"})
_MAX_DIGITS = 40


def as_bool(text: str) -> bool | None:
    """A boolean as oslo.config reads it (``oslo_config.types.Boolean``); None if it is none."""
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def as_number(text: str) -> int | None:
    """An integer as oslo.config reads it (``oslo_config.types.Integer``); None if it is none, or
    has more digits than any valid value of Nova's options."""
    try:
        return int(text) if len(text) <= _MAX_DIGITS else None
    except ValueError:
        return None


def _items(text: str) -> list[str]:
    """The items of a list as oslo.config reads it (``oslo_config.types.List``): trailing commas are
    ignored."""
    plain = text.strip().rstrip(",")
    return [item.strip() for item in plain.split(",")] if plain else []


def _is_map(text: str) -> bool:
    """True if oslo.config can convert the text to pairs (``oslo_config.types.Dict``): a part
    without a colon is the beginning of the next name, and no name may be empty or occur twice."""
    names: list[str] = []
    started = ""
    for part in text.strip().split(",") if text.strip() else ():
        started += part
        name, colon, _value = started.partition(":")
        if colon:
            names.append(name.strip())
            started = ""
        else:
            started += ","
    return not started and all(names) and len(names) == len(set(names))


def _as_float(text: str) -> float | None:
    try:
        return float(text) if len(text) <= _MAX_DIGITS else None
    except ValueError:
        return None


_SHOWN = 5
"""Maximum number of places named beside a finding's own."""

Name = tuple[str, str]
"""Section and name."""


class NovaOption(msgspec.Struct, frozen=True):
    """One assignment. ``line`` is 1-based, where the assignment begins; ``column`` is where its
    name begins, ``value_column`` where its value does, if on the same line.

    ``section`` is written as oslo.config compares it (lower case, except ``DEFAULT``); ``""`` if a
    template does not tell in which section it ends up. ``certain`` False: it may be missing, or
    have another value, once the file is rendered (a template) or resolved (``$other_option``).
    ``present``: the line is there in any case, even if something overrides it.

    If an old name was written, ``section`` and ``name`` are the current ones and ``alias`` is the
    written name (``pci/passthrough_whitelist``). ``known`` None: it is no option that affects NICs.
    ``raw`` is the written value if ``value`` was filled in from other options. ``broken`` is the
    certain reason why oslo.config cannot fill it in: "refers to itself"; ``""`` if it can, or if
    that is unknown. ``suggestions`` are the options, as ``section/name``, that were probably meant
    if no release of Nova has this one. ``right_section`` is the section in which Nova reads the
    option, if it is in another one. ``called`` is its name as written in a home that is no
    nova.conf (``NovaLibvirtRxQueueSize``).
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
    raw: str = ""
    broken: str = ""
    suggestions: tuple[str, ...] = ()
    right_section: str = ""
    called: str = ""

    @property
    def written(self) -> str:
        """``[section] name`` as written in the file."""
        section, _, name = (self.alias or f"{self.section}/{self.name}").partition("/")
        return f"[{section}] {name}"


class NovaIndex:
    """The assignments of a configuration by name and by file, so that no lookup goes through all of
    them: a file of 8 MiB has hundreds of thousands.

    ``options`` are in the order in which Nova reads them, those of one file one after another.
    """

    def __init__(self, options: tuple[NovaOption, ...]) -> None:
        self.options = options
        self._places: dict[Name, list[int]] = {}
        self._files: dict[str, list[NovaOption]] = {}
        self._winners: dict[Name, NovaOption | None] = {}
        for place, option in enumerate(options):
            self._places.setdefault((option.section, option.name), []).append(place)
            self._files.setdefault(option.file, []).append(option)

    def of_file(self, file: str) -> tuple[NovaOption, ...]:
        """The options that are set in one file."""
        return tuple(self._files.get(file, ()))

    def values(self, section: str, name: str, most: int = 0) -> tuple[NovaOption, ...]:
        """All assignments of an option, or the last ``most`` of them."""
        return tuple(self.options[place] for place in self._places_of(section, name)[-most:])

    def winner(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, which may be one whose section is unknown."""
        if (section, name) not in self._winners:
            lost, known = self._places_of("", name)[-1:], self._places_of(section, name)
            after = [place for place in known if place > lost[0]] if lost else known
            found = self._effective([*lost, *after])
            self._winners[section, name] = found
        return self._winners[section, name]

    @cached_property
    def last(self) -> frozenset[int]:
        """The ``id`` of the assignment of each option that is in effect in its own section."""
        found = (self._effective(places) for places in self._places.values())
        return frozenset(id(option) for option in found)

    @cached_property
    def fields(self) -> dict[str, NovaOption]:
        """Each assignment by its name in problems: ``section/name``, followed by ``#`` and its
        number if another one is in effect."""
        found = {}
        for (section, name), places in self._places.items():
            winner = self.winner(section, name)
            for number, place in enumerate(places, 1):
                option = self.options[place]
                mark = "" if option is winner else f"#{number}"
                found[f"{section}/{name}{mark}"] = option
        return found

    @cached_property
    def names(self) -> dict[int, str]:
        """``id`` of an assignment -> its key in ``fields``."""
        return {id(option): field for field, option in self.fields.items()}

    def _places_of(self, section: str, name: str) -> list[int]:
        return self._places.get((section, name), [])

    def _effective(self, places: Iterable[int]) -> NovaOption | None:
        """The last assignment; within one file the current name wins over an old one that follows
        it (oslo.config ``_Namespace._get_file_value``)."""
        found: NovaOption | None = None
        for place in sorted(places, reverse=True):
            option = self.options[place]
            if found is not None and option.file != found.file:
                break
            if not option.alias:
                return option
            found = found or option
        return found


class NovaConfig(Description, frozen=True, dict=True):
    """One file of a Nova service, together with the files that the service reads beside it.

    ``options`` are in the order in which Nova reads them, over all ``files`` (for a host of Kolla
    Ansible, also over those that it shares with others): the last one wins.
    Only the options in ``file`` are judged; the others are there because they may override them.
    Options that no rule uses, or that may hold a credential, are not kept; ``rest_checksum`` is a
    checksum of the former, so that a change of one shows. Not ``complete``: there may be further
    options (a template includes something, a file cannot be read). ``release_assumed``: the user
    did not name the release; it is the newest that is known. ``compute``: nova-compute reads the
    file, not only another service, and it is not a backup copy.

    ``home`` is the program that writes nova.conf from this file (``OpenStack-Ansible``, a name of
    :mod:`vnicaudit.knowledge.nova_conf.homes`). If the file itself is no nova.conf, ``part`` says
    where in it the options are, so that several are told apart; such a configuration is never
    ``complete``.
    """

    scope = "config"
    described_for = "nova"

    target: str
    file: str
    options: tuple[NovaOption, ...] = ()
    files: tuple[str, ...] = ()
    release: Release | None = None
    release_assumed: bool = True
    complete: bool = True
    compute: bool = False
    rest_checksum: int = 0
    home: str = ""
    part: str = ""

    @property
    def ref(self) -> Ref:
        """The file, which the location of a finding names."""
        return Ref("config")

    def first_line(self) -> int | None:
        """The line of its first option, in a home that may have several parts."""
        return self.options[0].line if self.part and self.options else None

    @cached_property
    def index(self) -> NovaIndex:
        """The options by name; not part of the record."""
        return NovaIndex(self.options)

    @cached_property
    def _own(self) -> NovaIndex:
        own = self.index.of_file(self.file)
        return self.index if len(own) == len(self.options) else NovaIndex(own)

    def winner(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, in whichever file; None if there is none."""
        return self.index.winner(section, name)

    def setting(self, section: str, name: str) -> NovaOption | None:
        """The assignment that is in effect, if it is in the judged file."""
        option = self.winner(section, name)
        return option if option is not None and option.file == self.file else None

    def written(self, section: str, name: str) -> NovaOption | None:
        """The last assignment in the judged file, whether it is in effect or not."""
        return self._own.winner(section, name)

    @cached_property
    def _by_place(self) -> dict[Location, NovaOption]:
        return {self.at(option): option for option in self.own}

    def at_place(self, place: Location) -> NovaOption | None:
        """The assignment at a place in the judged file."""
        return self._by_place.get(place)

    @property
    def own(self) -> tuple[NovaOption, ...]:
        """The assignments in the judged file."""
        return self._own.options

    @cached_property
    def settings(self) -> tuple[NovaOption, ...]:
        """The assignments in the judged file that are in effect, of options that affect NICs."""
        return tuple(
            option
            for option in self.own
            if option.known is not None
            and option.known.is_read
            and (_is_multi(option) or id(option) in self.index.last)
        )

    def values(self, section: str, name: str) -> tuple[NovaOption, ...]:
        """All assignments of an option that collects them (``MultiOpt``)."""
        return self.index.values(section, name)

    def overridden(self, option: NovaOption) -> tuple[Location, ...]:
        """The other places where it is set: the last of those whose value this one overrides."""
        if _is_multi(option):
            return ()
        found = self.index.values(option.section, option.name, _SHOWN + 1)
        others = [other for other in found if other is not option]
        return tuple(self.at(other) for other in others[-_SHOWN:])

    def at(self, option: NovaOption) -> Location:
        """The place of an assignment: its value; its name if Nova does not read it under that
        name."""
        plain = option.known is None or option.known.status == "current"
        plain = plain and not option.suggestions
        column = option.value_column if plain and option.value_column else option.column
        return Location(self.target, option.file, option.line, self.part or None, column)

    def field_of(self, option: NovaOption) -> str:
        """Name of an option in a problem: ``section/name``, with its number if there are
        several."""
        return self._own.names.get(id(option), f"{option.section}/{option.name}")

    def place(self, field: str | None) -> Location:
        """The place of a field in the judged file; the file itself if it is not in it."""
        option = None if field is None else self._own.fields.get(field)
        if field is not None and option is None:  # named by the section to which it may belong
            section, _, name = field.partition("/")
            option = self.written(section, name)
        if option is None:
            return Location(self.target, self.file, xpath=self.part or None)
        return self.at(option)

    @property
    def libvirt(self) -> bool | None:
        """True if nova-compute drives libvirt; None if that is uncertain. An absent or empty
        ``compute_driver`` counts as libvirt: other drivers have to be named, and option files are
        shared between services."""
        option = self.winner("DEFAULT", "compute_driver")
        if option is None or (option.certain and not option.value.strip()):
            return True
        return "libvirt" in option.value.lower() if option.certain else None


def _is_multi(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    return form is not None and form.multi
