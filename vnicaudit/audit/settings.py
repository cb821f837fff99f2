"""What ``vnicaudit.toml`` (or ``[tool.vnicaudit]`` in pyproject.toml) may say, checked.

Found upwards from the current folder; ``--config FILE`` wins. A mistake in it is a usage error
that names file and line: a setting that is silently not in effect would hide findings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from vnicaudit.audit.catalogue import rule_ids
from vnicaudit.audit.selection import Exclusion
from vnicaudit.audit.settings_file import Source, find, read
from vnicaudit.audit.settings_keys import PolicyTable, Settings, SuppressTable
from vnicaudit.audit.suppression import Suppression, close_to
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import converted
from vnicaudit.model.location import Location
from vnicaudit.model.version import Version

_ELEMENT = re.compile(r"(?<!^suppress)\[\d+\]$")
"""The index of an element in msgspec's path: the key says enough."""

_NAMES = ("domain", "image", "flavor")
"""Keys of a suppression of which one alone can be what a finding is about."""

_RING = '"keep", 256, 512 or 1024'
_POLICY = {
    "queues": '"keep", "auto" or a number from 1',
    "rx-queue-size": _RING,
    "tx-queue-size": _RING,
}
"""What a key of the policy takes, where it is not just a number."""


class Loaded(msgspec.Struct, frozen=True):
    """Settings, the file they come from (None: there is none), and the suppressions in it, each
    with its place."""

    settings: Settings = Settings()
    file: str | None = None
    suppressions: tuple[Suppression, ...] = ()

    @property
    def baseline(self) -> str | None:
        """The baseline's path, seen from the current folder."""
        if self.settings.baseline is None or self.file is None:
            return None
        return os.path.join(os.path.dirname(self.file), self.settings.baseline)

    @property
    def exclusion(self) -> Exclusion | None:
        """What the settings exclude; None where that is nothing."""
        if not self.settings.exclude or self.file is None:
            return None
        return Exclusion(self.settings.exclude, os.path.dirname(self.file) or ".")


def load_settings(
    explicit: str | None,
    start: str | os.PathLike[str] = ".",
    trusted: Iterable[str] = (),
) -> Loaded:
    """The settings of ``--config`` (``explicit``) or of the nearest file from ``start`` upwards.
    ``trusted``: folders whose settings hold, whoever may write them.

    Raises UsageError with file and line for whatever is wrong in it.
    """
    source = read(explicit, explicit=True) if explicit else find(start, trusted)
    if source is None:
        return Loaded()
    for problem in _unknown_keys(source):
        raise problem
    try:
        settings = converted(source.table, Settings)
    except msgspec.ValidationError as error:
        raise _refused(source, str(error)) from None
    _check(source, settings)
    return Loaded(settings, source.file, tuple(_suppressions(source, settings)))


def _suppressions(source: Source, settings: Settings) -> Iterator[Suppression]:
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


def _unknown_keys(source: Source) -> Iterator[UsageError]:
    """Keys that mean nothing, with the one that was probably meant."""
    for key, known in _strange(source.table, Settings):
        yield source.error(f"unknown key {key!r}{close_to(key, known)}", key)
    tables: Any = source.table.get("suppress")
    for index, table in enumerate(tables if isinstance(tables, list) else ()):
        for key, known in _strange(table, SuppressTable):
            message = f"unknown key {key!r} in [[suppress]]{close_to(key, known)}"
            yield source.error(message, f"suppress[{index}].{key}")
    for key, known in _strange(source.table.get("policy"), PolicyTable):
        yield _policy_error(source, f"unknown key {key!r} in [policy]{close_to(key, known)}", key)


def _strange(table: Any, kind: type[msgspec.Struct]) -> Iterator[tuple[str, list[str]]]:
    """The keys of a table that its kind does not have, each with those it has."""
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            yield key, known


def _refused(source: Source, message: str) -> UsageError:
    """msgspec's sentence, in words for whoever wrote the file."""
    what, _, path = message.partition(" - at `$.")
    path = _ELEMENT.sub("", path.rstrip("`"))
    missing = what.removeprefix("Object missing required field ")
    if missing != what:
        return source.error(f"{missing.strip('`')!r} is missing in [[suppress]]", path)
    if path.startswith("policy."):
        key = path.removeprefix("policy.")
        return _policy_error(source, f"{key}: expected {_POLICY.get(key, 'a number from 1')}", key)
    if "RFC3339" in what or "`datetime`" in what:
        what = "expected a date such as 2027-01-31"
    what = what.replace(" | null`", "`")
    key = path.rpartition(".")[2] or "the table"
    return source.error(f"{key}: {what[:1].lower()}{what[1:]}", path)


def _policy_error(source: Source, message: str, key: str) -> UsageError:
    """A usage error about a key in the policy, with the key's line or else the table's."""
    start = source.line("policy")
    if start is None:  # policy.queues = 4
        return source.error(message, f"policy.{key}")
    assigns = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, line in enumerate(source.text.split("\n")[start:], start + 1):
        if line.lstrip().startswith("["):
            break
        if assigns.match(line):
            start = number
            break
    return UsageError(f"{source.file}:{start}: {message}")


def _check(source: Source, settings: Settings) -> None:
    """What types alone do not say. Raises UsageError."""
    for key, prefixes in (("select", settings.select), ("ignore", settings.ignore)):
        for prefix in prefixes:
            _check_rule(source, prefix, key)
    versions = {"assume-qemu": settings.assume_qemu, "assume-libvirt": settings.assume_libvirt}
    for key, text in versions.items():
        try:
            if text is not None:
                Version.parse(text)
        except ValueError as error:
            raise source.error(f"{key}: {error}", key) from None
    _check_nova_release(source, settings.nova_release)
    for index, table in enumerate(settings.suppress):
        _check_rule(source, table.rule, f"suppress[{index}].rule")
        if not table.reason.strip():
            message = "'reason' is empty in [[suppress]]: say why it is accepted"
            raise source.error(message, f"suppress[{index}].reason")
        named = [key for key in _NAMES if getattr(table, key) is not None]
        if len(named) > 1:
            message = f"{' and '.join(named)} in one [[suppress]]: nothing is both"
            raise source.error(message, f"suppress[{index}].{named[1]}")


def _check_nova_release(source: Source, name: str | None) -> None:
    if name is None:
        return
    # imported here: few settings name one
    from vnicaudit.platforms.nova_conf.options import release_of, releases

    if release_of(name) is None:
        known = f"{releases()[0]} to {releases()[-1]}"
        message = f"nova-release: {name!r} is no release of Nova from {known}"
        raise source.error(message, "nova-release")


def _check_rule(source: Source, prefix: str, path: str) -> None:
    known = rule_ids()
    if not prefix or not any(rule.startswith(prefix.upper()) for rule in known):
        hint = close_to(prefix.upper(), known) or "; `vnicaudit rules` lists them"
        raise source.error(f"no rule begins with {prefix!r}{hint}", path)
