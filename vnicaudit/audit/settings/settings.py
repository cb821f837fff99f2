"""Settings of ``vnicaudit.toml`` (or ``[tool.vnicaudit]`` in pyproject.toml), checked.

The file is searched from the current folder upwards; ``--config FILE`` wins. A mistake in it is a
usage error that names file and line: a setting that is silently ignored would hide findings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import get_args

import msgspec

from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.audit.judging.catalogue import (
    Catalogue,
    RuleOptions,
    id_hint,
    shipped_catalogue,
    unknown_word,
)
from vnicaudit.audit.reading.selection import Exclusion
from vnicaudit.audit.settings import OWN, SHARED
from vnicaudit.audit.settings.file import SettingsFile, read_settings_file
from vnicaudit.audit.settings.keys import Level, PolicyTable, Settings, SuppressTable
from vnicaudit.base.files import why_not_own
from vnicaudit.base.wording import close_to, operator_words, reason_at
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import SEVERITIES, Confidence, Location, Severity
from vnicaudit.model.host import Version, Workload

# Settings of rules in ``vnicaudit.toml``: ``select``, ``ignore`` and ``[rules.ID]``, checked
# against the rules of the catalogue.


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
            message = f"unknown key {key!r} in [rules.{written}]{_keys(key, known)}"
            raise source.error_in(f"rules.{written}", message, key)
    try:
        catalogue.adjusted({written.upper(): options})
    except msgspec.ValidationError as error:
        what, key = reason_at(error)
        message = f"{key}: {operator_words(what)}"
        raise source.error_in(f"rules.{written}", message, key) from None
    return options


def _severity(source: SettingsFile, written: str, table: Mapping[str, object]) -> Severity | None:
    wanted = table.get(_SEVERITY)
    found = next((each for each in SEVERITIES if each == wanted), None)
    if wanted is None or found is not None:
        return found
    names = ", ".join(SEVERITIES)
    message = f"{_SEVERITY}: expected one of {names}, not {wanted!r}"
    raise source.error_in(f"rules.{written}", message, _SEVERITY)


class LoadedSettings(msgspec.Struct, frozen=True):
    """Settings, their file (None: there is none), and the suppressions in it, each with its
    place."""

    settings: Settings = Settings()
    file: str | None = None
    suppressions: tuple[Suppression, ...] = ()
    rules: dict[str, RuleOptions] = {}
    """The settings of rules, by id."""

    @property
    def baseline(self) -> str | None:
        """The baseline's path, relative to the current folder."""
        if self.settings.baseline is None or self.file is None:
            return None
        return os.path.join(os.path.dirname(self.file), self.settings.baseline)

    @property
    def exclusion(self) -> Exclusion | None:
        """The paths that the settings exclude; None if there are none."""
        if not self.settings.exclude or self.file is None:
            return None
        return Exclusion(self.settings.exclude, os.path.dirname(self.file) or ".")


def load_settings(
    explicit: str | None,
    start: str | os.PathLike[str] = ".",
    trusted: Iterable[str] = (),
    catalogue: Catalogue | None = None,
) -> LoadedSettings:
    """The settings of ``--config`` (``explicit``) or of the nearest file from ``start`` upwards.
    ``trusted``: folders whose settings apply whoever may write them; ``catalogue``: the rules that
    they may name, None: those of this package.

    Raises UsageError with file and line for anything wrong in it.
    """
    source = read_settings_file(explicit, explicit=True) if explicit else find(start, trusted)
    if source is None:
        return LoadedSettings()
    catalogue = catalogue or shipped_catalogue()
    settings = checked(source, catalogue)
    options = rule_options(source, settings.rules, catalogue)
    return LoadedSettings(settings, source.file, tuple(suppressions(source, settings)), options)


def find(start: str | os.PathLike[str], trusted: Iterable[str] = ()) -> SettingsFile | None:
    """The nearest settings from ``start`` upwards, up to the top of the Git repository or the home
    folder, whichever comes first; None if there are none. In one folder vnicaudit.toml wins; a
    pyproject.toml without the table is skipped.

    Raises UsageError for a file that cannot be read, or that another user may write, unless it is
    in one of the ``trusted`` folders or below it.
    """
    for folder in _upwards(os.path.realpath(start)):
        for name in (OWN, SHARED):
            path = os.path.join(folder, name)
            if os.path.isfile(path) or (name == OWN and _is_broken(path)):
                source = read_settings_file(path, explicit=False)
                if source is not None:
                    if not _is_within(folder, trusted):
                        _check_own(path)
                    return source
    return None


def _is_broken(path: str) -> bool:
    """True if the name of a settings file leads to something unusable, such as a dangling link or a
    pipe. An audit without these settings would not be the intended one."""
    return os.path.lexists(path) and not os.path.isdir(path)


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, up to the top of a project or of a user's files."""
    home = os.path.realpath(os.path.expanduser("~"))
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        if folder == home or os.path.lexists(os.path.join(folder, ".git")):
            return
        yield above
        folder = above


def _is_within(folder: str, trusted: Iterable[str]) -> bool:
    """True if a folder is one of the trusted ones, or below one, with links resolved."""
    roots = (os.path.realpath(root) for root in trusted if root)
    return any(os.path.commonpath((folder, root)) == root for root in roots)


def _check_own(path: str) -> None:
    """Raises UsageError for settings that another user can change: they can suppress findings, and
    change what is planned."""
    for place in (path, os.path.dirname(path)):
        reason = why_not_own(os.stat(place))
        if reason is not None:
            raise UsageError(
                f"{path}: not used, for {'it' if place == path else 'its folder'} {reason}; name "
                "it with --config, or its folder in VNICAUDIT_TRUST_SETTINGS, if it is to hold, or "
                "correct owner and mode"
            )


# Check the content of a settings file. A mistake is a usage error that names file and line.


_ELEMENT = r"(?<!^suppress)\[\d+\]$"
"""The index of an element in msgspec's path, which is dropped: the key is enough."""

_URL = r"https?://[!-.0-~][!-~]*"

_FEW = 14
"""Keys that are all named."""
_NAMES = ("domain", "image", "flavor", "host")
"""Keys of a suppression of which only one may be set: a finding is about one kind of object."""

_CHOICES = {
    "level": get_args(Level), "confidence": get_args(Confidence), "workload": get_args(Workload),
}  # fmt: skip
"""Words that a key takes."""

_RING = '"keep", 256, 512 or 1024'
_POLICY = {
    "queues": '"keep", "auto" or a number from 1',
    "rx-queue-size": _RING,
    "tx-queue-size": _RING,
}
"""The values that a key of the policy accepts, if it is not just a number."""


def checked(source: SettingsFile, catalogue: Catalogue) -> Settings:
    """The settings in a file; ``catalogue``: the rules that they may name. Raises UsageError."""
    for problem in _unknown_keys(source):
        raise problem
    try:
        settings = converted(source.table, Settings)
    except msgspec.ValidationError as error:
        raise _decoding_error(source, error) from None
    _check(source, settings, catalogue)
    return settings


def suppressions(source: SettingsFile, settings: Settings) -> Iterator[Suppression]:
    """The suppressions of the settings, each with its place in the file."""
    for index, table in enumerate(settings.suppress):
        given = msgspec.structs.asdict(table) | {
            "rule": table.rule.upper(),
            "reason": table.reason.strip(),
            "uuid": table.uuid and table.uuid.lower(),
            "mac": table.mac and table.mac.lower().replace("-", ":"),
        }
        line = source.line(f"suppress[{index}]")
        yield Suppression(**given, location=Location(source.file, source.file, line))


def _unknown_keys(source: SettingsFile) -> Iterator[UsageError]:
    """Unknown keys, with the one that was probably meant."""
    for key, known in _strange(source.table, Settings):
        yield source.error(f"unknown key {key!r}{_keys(key, known)}", key)
    tables: object = source.table.get("suppress")
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        for key, known in _strange(table, SuppressTable):
            message = f"unknown key {key!r} in [[suppress]]{_keys(key, known)}"
            yield source.error(message, f"suppress[{index}].{key}")
    for key, known in _strange(source.table.get("policy"), PolicyTable):
        yield source.error_in("policy", f"unknown key {key!r} in [policy]{_keys(key, known)}", key)


def _keys(key: str, known: list[str]) -> str:
    """The key that was probably meant, or all that there are if they are few."""
    every = f"; its keys: {', '.join(known)}" if len(known) <= _FEW else ""
    return close_to(key, known) or every


def _strange(table: object, kind: type[msgspec.Struct]) -> Iterator[tuple[str, list[str]]]:
    """The unknown keys of a table, each with the keys that it may have."""
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            yield key, known


def _decoding_error(source: SettingsFile, error: msgspec.ValidationError) -> UsageError:
    """msgspec's sentence, reworded for the author of the file."""
    what, path = reason_at(error)
    path = re.sub(_ELEMENT, "", path)
    missing = what.removeprefix("Object missing required field ")
    if missing != what:
        return source.error(f"{missing.strip('`')!r} is missing in [[suppress]]", path)
    if path.startswith("policy."):
        key = path.removeprefix("policy.")
        expected = _POLICY.get(key, "a number from 1")
        return source.error_in("policy", f"{key}: expected {expected}", key)
    if path.startswith("rules"):
        return source.error("rules: expected tables such as [rules.VNIC001]", "rules")
    if "RFC3339" in what or "`datetime`" in what:
        what = "expected a date such as 2027-01-31"
    key = path.rpartition(".")[2] or "the table"
    written = what.removeprefix("Invalid enum value ")
    if written != what and key in _CHOICES:
        what = f"expected one of {', '.join(_CHOICES[key])}, not {written}"
    return source.error(f"{key}: {operator_words(what)}", path)


def _check(source: SettingsFile, settings: Settings, catalogue: Catalogue) -> None:
    """Check what types alone cannot express. Raises UsageError."""
    for key, words in (("select", settings.select), ("ignore", settings.ignore)):
        for word in words:
            check_selected(source, word, key, catalogue)
    versions = {"assume-qemu": settings.assume_qemu, "assume-libvirt": settings.assume_libvirt}
    for key, text in versions.items():
        try:
            if text is not None:
                Version.parse(text)
        except ValueError as error:
            raise source.error(f"{key}: {error}", key) from None
    _check_nova_release(source, settings.nova_release)
    if settings.docs_url is not None and not re.fullmatch(_URL, settings.docs_url):
        message = "docs-url: expected an address such as https://docs.example.org/vnicaudit"
        raise source.error(message, "docs-url")
    for index, table in enumerate(settings.suppress):
        _check_rule(source, table.rule, f"suppress[{index}].rule", catalogue.ids)
        if not table.reason.strip():
            message = "'reason' is empty in [[suppress]]: say why it is accepted"
            raise source.error(message, f"suppress[{index}].reason")
        kinds = (*_NAMES, "link" if table.host is None else "host")
        named = [key for key in dict.fromkeys(kinds) if getattr(table, key) is not None]
        if len(named) > 1:
            message = f"{' and '.join(named)} in one [[suppress]]: nothing is both"
            raise source.error(message, f"suppress[{index}].{named[1]}")


def _check_nova_release(source: SettingsFile, name: str | None) -> None:
    if name is None:
        return
    from vnicaudit.knowledge.nova_conf.options import release_of, releases

    if release_of(name) is None:
        known = f"{releases()[0]} to {releases()[-1]}"
        message = f"nova-release: unknown Nova release {name!r} (known: {known})"
        raise source.error(message, "nova-release")


def _check_rule(source: SettingsFile, prefix: str, path: str, known: Sequence[str]) -> None:
    if not prefix or not any(rule.startswith(prefix.upper()) for rule in known):
        raise source.error(f"no rule begins with {prefix!r}{id_hint(prefix, known)}", path)
