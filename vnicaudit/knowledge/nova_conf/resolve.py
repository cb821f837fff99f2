"""Options as written -> options as Nova sees them, with old names replaced and ``$other_option``
filled in.

Source: oslo.config ``Opt._get_from_namespace``.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from vnicaudit.knowledge.nova_conf.options import Knowledge, knowledge
from vnicaudit.knowledge.nova_conf.references import References, is_reference
from vnicaudit.model.nova import NovaConfig, NovaIndex, NovaOption
from vnicaudit.model.nova_options import Release
from vnicaudit.text.placeholders import is_only_placeholder


def is_placeholder(value: str) -> bool:
    """True if the value is a placeholder that is filled in before Nova reads the file; a reference
    to another option may look similar, but is none."""
    if not is_only_placeholder(value):
        return False

    return not is_reference(value.strip())


def as_of(config: NovaConfig, release: Release | None = None) -> NovaConfig:
    """The configuration as a release reads it; None: the newest known release."""
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
    """Options compared by identity, because comparing their values takes too long."""

    def __init__(self, options: tuple[NovaOption, ...]) -> None:
        self.options = options

    def __hash__(self) -> int:
        return id(self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Options) and self.options is other.options


@lru_cache(maxsize=4)
def _read_by(written: _Options, number: int | None, form: str) -> NovaIndex:
    """Options as a release reads them. The result is cached for the files that Nova reads
    together."""
    known = knowledge(number)
    options = tuple(_under_current_name(option, known) for option in written.options)
    index = NovaIndex(options)
    if form == "flags" or not any("$" in option.value for option in options):
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
