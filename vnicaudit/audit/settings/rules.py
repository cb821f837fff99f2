"""Settings of rules in ``vnicaudit.toml``: ``select``, ``ignore`` and ``[rules.ID]``, checked
against the rules of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, RuleOptions, unknown_word
from vnicaudit.audit.settings.file import SettingsFile
from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import SEVERITIES, Severity

_SEVERITY = "severity"


def check_selected(source: SettingsFile, word: str, path: str, catalogue: Catalogue) -> None:
    """Raises UsageError for a word in ``select`` or ``ignore`` that matches no rule."""
    if not catalogue.rules_named(word):
        hint = catalogue.hint(word)
        raise source.error(unknown_word(word) + hint, path)


def rule_options(
    source: SettingsFile, tables: Mapping[str, Mapping[str, object]], catalogue: Catalogue
) -> dict[str, RuleOptions]:
    """The options of each rule, by its id. Raises UsageError, with the place, for an unknown rule,
    an unknown key, or an invalid value."""
    return {
        _id_of(source, written, catalogue): _options(source, written, table, catalogue)
        for written, table in tables.items()
    }


def _id_of(source: SettingsFile, written: str, catalogue: Catalogue) -> str:
    if written.upper() in catalogue.ids:
        return written.upper()
    hint = catalogue.hint(written)
    raise source.error(f"no rule {written!r}{hint}", f"rules.{written}")


def _options(
    source: SettingsFile, written: str, table: Mapping[str, object], catalogue: Catalogue
) -> RuleOptions:
    own = {key: value for key, value in table.items() if key != _SEVERITY}
    options = RuleOptions(_severity(source, written, table), own)
    known = [_SEVERITY, *(key.name for key in catalogue.info(written).settings)]
    for key in own:
        if key not in known:
            message = f"unknown key {key!r} in [rules.{written}]{close_to(key, known)}"
            raise in_table(source, f"rules.{written}", message, key)
    try:
        catalogue.adjusted({written.upper(): options})
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        key = path.rstrip("`")
        message = f"{key}: {what[:1].lower()}{what[1:]}"
        raise in_table(source, f"rules.{written}", message, key) from None
    return options


def _severity(source: SettingsFile, written: str, table: Mapping[str, object]) -> Severity | None:
    wanted = table.get(_SEVERITY)
    found = next((each for each in SEVERITIES if each == wanted), None)
    if wanted is None or found is not None:
        return found
    names = ", ".join(SEVERITIES)
    message = f"{_SEVERITY}: expected one of {names}, not {wanted!r}"
    raise in_table(source, f"rules.{written}", message, _SEVERITY)


def in_table(source: SettingsFile, table: str, message: str, key: str) -> UsageError:
    """A usage error about a key of a table, with the key's line or else the table's."""
    start = source.line(table)
    if start is None:  # the key may be written as policy.queues = 4
        return source.error(message, f"{table}.{key}")
    assigns = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, line in enumerate(source.text.split("\n")[start:], start + 1):
        if line.lstrip().startswith("["):
            break
        if assigns.match(line):
            start = number
            break
    return UsageError(f"{source.file}:{start}: {message}")
