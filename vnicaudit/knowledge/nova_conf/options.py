"""Options that affect NICs, as each release of Nova knows them.

``options.json`` and ``names.json`` beside this module are written by
``scripts/generate_nova_options.py`` from the option definitions in Nova's own packages, from Ocata
(15.0) to the newest. The names of all other options are in a file of their own, because a
configuration with options about NICs only does not need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import msgspec

from vnicaudit.base.opening import read_beside
from vnicaudit.model.decoding import json_as
from vnicaudit.model.host import IDENTITY, SITE_OPTIONS
from vnicaudit.model.nova import KnownOption, Name, OptionForm, Release

# Suggestions for misspelt names.
#
# Two names are similar if one letter, or one word between underscores, is additional, missing,
# different, or swapped with the next. They are compared by the rests of each name without one of
# its letters or words, so that the cost depends only on the length of a name, not on the number
# of names: a file may have hundreds of thousands.

_LONGEST = 80
"""Maximum number of letters of a name that is checked: no option of Nova has half as many."""
_FEWEST = 6
"""Minimum number of letters of a name that may differ in one letter."""
_WORDS = 2
"""Minimum number of words that must remain when one is removed."""


_Index = tuple[dict[str, set[str]], dict[str, set[str]]]
"""Rest -> the names that have it: the rests without a letter, and those without a word."""


def _indexed(names: Iterable[str]) -> _Index:
    by_letters: dict[str, set[str]] = {}
    by_words: dict[str, set[str]] = {}
    for name in names:
        for rest in _without_a_letter(name.lower()):
            by_letters.setdefault(rest, set()).add(name)
        for rest in _without_a_word(name.lower()):
            by_words.setdefault(rest, set()).add(name)
    return by_letters, by_words


def _likely(written: str, index: _Index) -> tuple[str, ...]:
    """The names that may have been meant, sorted: those that differ by a letter, or else those that
    differ by a word. Empty if none is similar."""
    if len(written) > _LONGEST:
        return ()
    plain = written.lower().replace("-", "_")
    for rests, names in zip((_without_a_letter(plain), _without_a_word(plain)), index, strict=True):
        found = {name for rest in rests for name in names.get(rest, ())} - {written}
        if found:
            return tuple(sorted(found))
    return ()


def _without_a_letter(name: str) -> Iterator[str]:
    yield name
    if len(name) >= _FEWEST:
        yield from (name[:place] + name[place + 1 :] for place in range(len(name)))


def _without_a_word(name: str) -> Iterator[str]:
    words = name.split("_")
    yield name
    if len(words) > _WORDS:
        yield from ("_".join(words[:n] + words[n + 1 :]) for n in range(len(words)))


FIRST_PACKAGED = 15
"""Ocata: there are no packages of earlier releases, so it is unknown which options they lacked."""


class _Form(OptionForm, frozen=True, kw_only=True):
    """The form of an option from release number ``since`` on."""

    since: int
    aliases: tuple[Name, ...] = ()


class _History(msgspec.Struct, frozen=True):
    """One option over all releases; ``since`` and ``removed`` are numbers of releases."""

    section: str
    name: str
    since: int
    forms: tuple[_Form, ...] = ()
    removed: int | None = None
    deprecated: int | None = None
    note: str = ""


class _OptionsTable(msgspec.Struct, frozen=True):
    """The content of ``options.json``."""

    releases: tuple[Release, ...]
    options: tuple[_History, ...]
    strings: dict[str, frozenset[str]]
    """Section -> options whose value is text, of which only the names are known."""


class _NamesTable(msgspec.Struct, frozen=True):
    """The content of ``names.json``."""

    names: dict[str, frozenset[str]]
    """Section -> every name that any release reads there, including old names."""
    library: frozenset[str]
    """Names that libraries of Nova read from nova.conf, in any section."""


class Knowledge(msgspec.Struct, frozen=True):
    """Options that one release knows, by all names under which they may be written."""

    release: Release
    options: dict[Name, KnownOption]
    aliases: dict[Name, tuple[Name, ...]]
    """Current name -> old names that are read too, in oslo.config's order."""
    strings: dict[str, frozenset[str]]


@cache
def _table() -> _OptionsTable:
    return json_as(read_beside(__file__, "options.json"), _OptionsTable)


@cache
def _every_name() -> _NamesTable:
    return json_as(read_beside(__file__, "names.json"), _NamesTable)


def releases() -> tuple[Release, ...]:
    """All known releases, oldest first."""
    return _table().releases


def release_of(text: str) -> Release | None:
    """The release for a text: a name in any case, Nova's version (29, 29.0, 29.2.1) or OpenStack's
    (2024.1); None if there is none."""
    words = text.strip().lower()
    number = words.partition(".")[0]
    for release in releases():
        names = {release.name.lower(), release.version, release.coordinated} - {""}
        if words in names or (number == release.version.partition(".")[0] and _is_version(words)):
            return release
    return None


def _is_version(words: str) -> bool:
    """True for ``29``, ``29.0`` or ``29.2.1``, but not for 2015.1, which is a name."""
    parts = words.split(".")
    return len(parts) <= 3 and all(part.isdigit() for part in parts) and len(parts[0]) < 4


def is_asked_for(section: str, name: str) -> bool:
    """True if the option matters to any part of vnicaudit: it affects NICs in some release, others
    refer to it, it distinguishes compute nodes, it looks like a misspelling of one of those, it is
    in a wrong section, or it is a flag from before oslo.config. ``section`` is ``""`` if it is
    unknown."""
    names, in_any_section = _asked_for()
    if name.startswith("--"):
        return True
    if not section:
        return name in in_any_section
    if (section, name) in names or section_of_misplaced(section, name):
        return True
    return bool(options_named(section, name))


def section_of_misplaced(section: str, name: str) -> str:
    """The section in which Nova reads the option of that name that affects the NICs of libvirt's
    guests, if it is written in another of Nova's sections, where no release reads it; empty
    otherwise.

    In ``[DEFAULT]`` no release before those of ``names.json`` read one either: its options of
    libvirt began with ``libvirt_`` (nova commit d0a02fa390).
    """
    right = _sections_by_name().get(name, section)
    if right == section or section not in _every_name().names or may_have(section, name):
        return ""
    return right


def options_named(section: str, name: str) -> tuple[Name, ...]:
    """The options of the newest release that were probably meant by a name or section that no
    release has: those that affect NICs and have a similar spelling, likeliest first."""
    if (section, name) in _asked_for()[0]:
        return ()
    names = _every_name().names
    if section in names:
        if name in names[section]:
            return ()
        return tuple((section, meant) for meant in _likely(name, _spelling(section)))
    sections = [meant for meant in _likely(section, _sections()) if meant in _JUDGED]
    return tuple((meant, name) for meant in sections if name in _current(meant))


def may_have(section: str, name: str) -> bool:
    """True if some release has an option of that name in the section, or a library has it in any
    section."""
    table = _every_name()
    return name in table.library or name in table.names.get(section, ())


_JUDGED = ("DEFAULT", "compute", "filter_scheduler", "libvirt", "neutron", "pci", "workarounds")
"""Sections with options that affect the NICs of libvirt's guests."""


@cache
def _current(section: str) -> frozenset[str]:
    """Options of a section that affect NICs and exist in the newest release."""
    found = knowledge().options.values()
    read = frozenset(o.name for o in found if o.section == section and o.status == "current")
    if section == "DEFAULT":
        return read | {"compute_driver"}
    return read if section in _JUDGED else frozenset()


@cache
def _sections_by_name() -> dict[str, str]:
    """The names that Nova reads in each section of ``_JUDGED``, and that section: none is in
    two."""
    found = knowledge().options.items()
    return {
        name: section
        for (section, name), option in found
        if option.is_read and section in _JUDGED and section == option.section
    }


@cache
def _spelling(section: str) -> _Index:
    return _indexed(_current(section))


@cache
def _sections() -> _Index:
    return _indexed(_every_name().names)


@cache
def _asked_for() -> tuple[frozenset[Name], frozenset[str]]:
    """Section and name of each option that matters, in any release; and the names alone."""
    table = _table()
    found = {*SITE_OPTIONS, *IDENTITY, ("DEFAULT", "compute_driver")}
    for history in table.options:
        found.add((history.section, history.name))
        found.update(alias for form in history.forms for alias in form.aliases)
    for section, names in table.strings.items():
        found.update((section, name) for name in names)
    return frozenset(found), frozenset(name for _section, name in found)


@cache
def knowledge(number: int | None = None) -> Knowledge:
    """Options that a release knows; None is the newest release."""
    table = _table()
    by_number = {release.number: release for release in table.releases}
    release = table.releases[-1] if number is None else by_number[number]
    found: dict[Name, KnownOption] = {}
    aliases: dict[Name, tuple[Name, ...]] = {}
    for history in table.options:
        name = (history.section, history.name)
        found[name] = known = _known_option(history, release, by_number)
        form = _form_at(history, max(release.number, FIRST_PACKAGED))
        if form is not None and known.is_read and form.aliases:
            aliases[name] = form.aliases
    for name, olds in aliases.items():
        for old in olds:
            found[old] = msgspec.structs.replace(found[name], status="alias")
    return Knowledge(release, found, aliases, table.strings)


def _known_option(
    history: _History, release: Release, by_number: dict[int, Release]
) -> KnownOption:
    number = release.number
    form = _form_at(history, number)
    status = "current"
    if history.removed is not None and number >= history.removed:
        status = "removed"
    elif number < history.since and history.since > FIRST_PACKAGED:
        status = "future"
    elif history.deprecated is not None and number >= history.deprecated:
        status = "deprecated"
    return KnownOption(
        section=history.section,
        name=history.name,
        status=status,  # type: ignore[arg-type]  # a Literal that mypy widened
        form=form if status in ("current", "deprecated") else None,
        since=by_number.get(history.since),
        deprecated=None if history.deprecated is None else by_number[history.deprecated],
        removed=None if history.removed is None else by_number[history.removed],
        note=history.note,
    )


def _form_at(history: _History, number: int) -> _Form | None:
    forms = [form for form in history.forms if form.since <= number]
    return forms[-1] if forms else None
