"""Check the content of a settings file. A mistake is a usage error that names file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import get_args

import msgspec

from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.judging.close_ids import id_hint
from vnicaudit.audit.settings.file import SettingsFile
from vnicaudit.audit.settings.keys import FailOn, PolicyTable, Settings, SuppressTable
from vnicaudit.audit.settings.rules import check_selected, in_table
from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.nova_conf.options import release_of, releases
from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import Confidence
from vnicaudit.model.location import Location
from vnicaudit.model.version import Version

_ELEMENT = r"(?<!^suppress)\[\d+\]$"
"""The index of an element in msgspec's path, which is dropped: the key is enough."""

_URL = r"https?://[!-.0-~][!-~]*"

_NAMES = ("domain", "image", "flavor")
"""Keys of a suppression of which only one may be set: a finding is about one kind of object."""

_CHOICES = {"fail-on": get_args(FailOn), "fail-confidence": get_args(Confidence)}
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
        raise _decoding_error(source, str(error)) from None
    _check(source, settings, catalogue)
    return settings


def suppressions(source: SettingsFile, settings: Settings) -> Iterator[Suppression]:
    """The suppressions of the settings, each with its place in the file."""
    for index, table in enumerate(settings.suppress):
        line = source.line(f"suppress[{index}]")
        yield Suppression(
            rule=table.rule.upper(),
            reason=table.reason.strip(),
            location=Location(source.file, source.file, line),
            owner=table.owner,
            until=table.until,
            domain=table.domain,
            uuid=None if table.uuid is None else table.uuid.lower(),
            mac=None if table.mac is None else table.mac.lower().replace("-", ":"),
            file=table.file,
            project=table.project,
            image=table.image,
            flavor=table.flavor,
        )


def _unknown_keys(source: SettingsFile) -> Iterator[UsageError]:
    """Unknown keys, with the one that was probably meant."""
    for key, known in _strange(source.table, Settings):
        yield source.error(f"unknown key {key!r}{close_to(key, known)}", key)
    tables: object = source.table.get("suppress")
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        for key, known in _strange(table, SuppressTable):
            message = f"unknown key {key!r} in [[suppress]]{close_to(key, known)}"
            yield source.error(message, f"suppress[{index}].{key}")
    for key, known in _strange(source.table.get("policy"), PolicyTable):
        yield in_table(
            source, "policy", f"unknown key {key!r} in [policy]{close_to(key, known)}", key
        )


def _strange(table: object, kind: type[msgspec.Struct]) -> Iterator[tuple[str, list[str]]]:
    """The unknown keys of a table, each with the keys that it may have."""
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            yield key, known


def _decoding_error(source: SettingsFile, message: str) -> UsageError:
    """msgspec's sentence, reworded for the author of the file."""
    what, _, path = message.partition(" - at `$.")
    path = re.sub(_ELEMENT, "", path.rstrip("`"))
    missing = what.removeprefix("Object missing required field ")
    if missing != what:
        return source.error(f"{missing.strip('`')!r} is missing in [[suppress]]", path)
    if path.startswith("policy."):
        key = path.removeprefix("policy.")
        return in_table(
            source, "policy", f"{key}: expected {_POLICY.get(key, 'a number from 1')}", key
        )
    if path.startswith("rules"):
        return source.error("rules: expected tables such as [rules.VNIC001]", "rules")
    if "RFC3339" in what or "`datetime`" in what:
        what = "expected a date such as 2027-01-31"
    what = what.replace(" | null`", "`")
    key = path.rpartition(".")[2] or "the table"
    written = what.removeprefix("Invalid enum value ")
    if written != what and key in _CHOICES:
        what = f"expected one of {', '.join(_CHOICES[key])}, not {written}"
    return source.error(f"{key}: {what[:1].lower()}{what[1:]}", path)


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
        named = [key for key in _NAMES if getattr(table, key) is not None]
        if len(named) > 1:
            message = f"{' and '.join(named)} in one [[suppress]]: nothing is both"
            raise source.error(message, f"suppress[{index}].{named[1]}")


def _check_nova_release(source: SettingsFile, name: str | None) -> None:
    if name is None:
        return

    if release_of(name) is None:
        known = f"{releases()[0]} to {releases()[-1]}"
        message = f"nova-release: unknown Nova release {name!r} (known: {known})"
        raise source.error(message, "nova-release")


def _check_rule(source: SettingsFile, prefix: str, path: str, known: Sequence[str]) -> None:
    if not prefix or not any(rule.startswith(prefix.upper()) for rule in known):
        raise source.error(f"no rule begins with {prefix!r}{id_hint(prefix, known)}", path)
