"""Records in, records of the same shape out, with pseudonyms for everything that identifies a
site.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.judging.catalogue import shipped_catalogue
from vnicaudit.audit.kinds import KINDS as SUBJECT_KINDS
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import (
    AcceptingComment,
    Change,
    Crashed,
    Finding,
    Location,
    NamedKind,
    OutsideOwner,
    Ref,
    Skipped,
)
from vnicaudit.model.fix import SetHostSetting
from vnicaudit.model.fleet import Coverage, FleetAudit, HostReading, InventoryHost
from vnicaudit.model.host import CpuColumn, HostCpus
from vnicaudit.model.names import FixNames, RuleInfo, RuleSetting
from vnicaudit.model.nic import Nic, Resolved, RunningNic
from vnicaudit.model.openstack import Aggregate, CloudServer, Flavor, Image, NodeFacts
from vnicaudit.model.report import (
    Audited,
    NicRow,
    NotFixed,
    NotJudged,
    Placed,
    PutAside,
    ReadError,
    ReportRequest,
    RunEnd,
    RunInfo,
    ServerName,
    Summary,
    Suppressed,
    TargetResult,
    Tool,
)
from vnicaudit.model.rule import NicSeen
from vnicaudit.reports.pseudonyms import (
    ADAPTER,
    Prefix,
    Pseudonyms,
    TextRedactor,
    public_words,
)

# The kind of identifier in each field of a record. A field that is not listed is treated as free
# text and redacted by :mod:`vnicaudit.reports.pseudonyms`, so a new field cannot leak
# anything.


Kind = Prefix | Literal[
    "keep", "uuid", "mac", "path", "pattern", "pointer", "target", "mark", "subject"
]  # fmt: skip
"""A prefix: a name of that kind. ``keep``: identifies nothing. ``mark``: a digest. ``pattern``:
matches names of hosts and groups. ``subject``: depends on the scope of the record."""

NAMES: frozenset[Kind] = frozenset(
    {
        "vm", "host", "site", "group", "project", *typing.get_args(NamedKind), "cloud", "dev",
        "uuid", "path", "target", "subject",
    }
)  # fmt: skip
"""Kinds that may occur in free text too."""


SUBJECTS: Mapping[str, Kind] = {scope: row.pseudonym for scope, row in SUBJECT_KINDS.items()}
"""Scope of a result -> kind of its subject and uuid."""

_NAMED: Mapping[str, Kind] = {"name": "vm", "uuid": "uuid"}
_PLACE: Mapping[str, Kind] = {"target": "target", "file": "path", "xpath": "pointer"}

KINDS: Mapping[type[msgspec.Struct], Mapping[str, Kind]] = {
    Location: _PLACE,
    ReadError: {"file": "path"},
    PutAside: {"file": "path"},
    NotFixed: {"fingerprint": "mark"},
    NotJudged: {"file": "path"},
    TargetResult: {
        "target": "target", "name": "host", "status": "keep", "calls": "keep",
        "unrecognised": "path",
    },
    Summary: {"by_severity": "keep", "by_rule": "keep", "skipped": "keep"},
    Ref: {"name": "subject", "id": "uuid", "mac": "mac", "target_dev": "dev"},
    Finding: {"rule": "keep", "name": "keep", "fingerprint": "mark", "owner": "keep"},
    Change: {"field": "keep"},
    Skipped: {"rule": "keep"},
    Crashed: {"rule": "keep"},
    Suppressed: {"reason": "text", "owner": "text", "until": "keep"},
    AcceptingComment: {"file": "path", "entry": "text"},
    OutsideOwner: {"name": "keep", "rewrites": "keep"},
    Placed: {
        "image": "image", "image_id": "uuid", "flavor": "flavor", "project": "project",
        "project_id": "uuid", "host": "host",
    },
    Audited: {
        "target": "target", "subject": "subject", "uuid": "uuid", "file": "path", "server": "vm",
    },
    NicRow: {
        "domain": "vm", "uuid": "uuid", "mac": "mac", "target_dev": "dev", "owner": "keep",
        "source": "name",
    },
    ServerName: {
        "id": "uuid", "name": "vm", "cloud": "target", "project": "uuid",
        "project_name": "project", "host": "host",
    },
    Resolved: {"state": "keep"},
    RunEnd: {"finished": "keep"},
    Tool: {"name": "keep", "version": "keep"},
    RuleSetting: {"name": "keep"},
    Domain: {**_NAMED, "mark": "text", "preference_file": "path", "template": "text"},
    Nic: {
        "mac": "mac", "source": "name", "network": "name", "target_dev": "dev",
        "address": "keep",
    },
    RunningNic: {"mac": "mac"},
    NicSeen: {},
    CloudServer: {
        "id": "uuid", "name": "vm", "target": "target", "host": "host", "project": "uuid",
        "project_name": "project", "instance_name": "vm", "zone": "group", "groups": "uuid",
        "created": "keep", "locked_reason": "text",
    },
    Image: {
        "target": "target", "id": "uuid", "name": "image", "owner": "uuid",
        "owner_name": "project", "updated": "keep",
    },
    Flavor: {"target": "target", "id": "uuid", "name": "flavor"},
    NodeFacts: {"file": "path"},
    Aggregate: {"name": "group", "zone": "group"},
    Coverage: {"rules": "keep", "limit": "pattern"},
    HostCpus: {"tables": "keep"},
    CpuColumn: {"cells": "keep"},
    InventoryHost: {
        "name": "host", "uri": "target", "site": "site", "groups": "group",
    },
    HostReading: {"started": "keep", "finished": "keep", "digest": "mark"},
    FleetAudit: {
        "id": "keep", "started": "keep", "finished": "keep", "version": "keep",
        "chosen_hosts": "host",
    },
}  # fmt: skip


_PREFIXES: dict[str, Prefix] = {prefix: prefix for prefix in typing.get_args(Prefix)}
R = TypeVar("R", bound=msgspec.Struct)


class Redactor:
    """Redacts the records of one report. It learns the names in each record, so that a later text
    that mentions them is redacted too."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._pseudonyms = Pseudonyms(key)
        self._texts = TextRedactor(self._pseudonyms)
        made = self._pseudonyms
        self._by_kind: dict[Kind | None, Callable[[str], str]] = {
            None: self._texts.redacted,
            "host": made.host,
            "mac": made.mac,
            "mark": made.mark,
            "path": made.path,
            "pattern": made.pattern,
            "pointer": lambda text: made.pointer(text, public_words()),
            "target": made.target,
            "uuid": made.identity,
        }

    def record(self, record: R) -> R:
        """The redacted record, including all nested records. Accepts any record of the model."""
        self.learn(record)
        return self._struct(record)

    def reading(self, reading: HostReading) -> HostReading:
        """The redacted reading of one host of a fleet, without ``nics_seen``."""
        return replace(self.record(reading), nics_seen=())

    def pattern(self, text: str) -> str:
        """Redact a pattern of hosts and groups (``--limit``)."""
        return self._pseudonyms.pattern(text)

    def knowing(self, records: Iterable[msgspec.Struct]) -> Redactor:
        """A new redactor with the same key that knows the names in these records, for texts about
        them."""
        made = Redactor(self._key)
        for one in records:
            made.learn(one)
        return made

    def text(self, text: str) -> str:
        """A message, redacted with the names learned so far."""
        return self._texts.redacted(text)

    def run(self, run: RunInfo) -> RunInfo:
        """The redacted facts of a run before it starts. Manuals of rules that are not built in are
        left out: they may contain anything."""
        asked = run.request and _without_values(run.request)
        return replace(run, rules=lambda: tuple(map(self._rule, run.rules())), request=asked)

    def learn(self, value: object) -> None:
        """Learn the names in a record and its nested records, to recognise them in texts."""
        if isinstance(value, msgspec.Struct):
            for field, kind in _plan(type(value)):
                inner: object = getattr(value, field)
                if isinstance(inner, str):
                    self._learn(inner, _kind_of(kind, value))
                elif kind != "keep":
                    self._learn_all(inner, kind, value)
        elif isinstance(value, (tuple, list)):
            for each in value:
                self.learn(each)

    def _learn_all(self, inner: object, kind: Kind | None, value: msgspec.Struct) -> None:
        if isinstance(inner, (tuple, list)) and kind is not None:
            for each in inner:
                if isinstance(each, str):
                    self._learn(each, _kind_of(kind, value))
        self.learn(inner)

    def _learn(self, name: str, kind: Kind | None) -> None:
        if kind in NAMES and name:
            self._texts.learn(name, self._value(name, kind))

    def _struct(self, record: R) -> R:
        changed: dict[str, object] = {}
        for field, kind in _plan(type(record)):
            old: object = getattr(record, field)
            if kind == "keep" or old is None:
                continue
            new = self._any(old, _kind_of(kind, record))
            if new is not old:
                changed[field] = new
        if isinstance(record, (Change, SetHostSetting)) and ":" in record.field:
            # a host's setting names its link
            setting, device, *rest = record.field.split(":")
            if not ADAPTER.fullmatch(device):
                device = self._value(device, "dev")
            changed["field"] = ":".join((setting, device, *rest))
        return replace(record, **changed) if changed else record

    def _any(self, value: object, kind: Kind | None) -> object:
        if isinstance(value, str):
            return self._value(value, kind)
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        if isinstance(value, FixNames):
            return self._names(value)
        if isinstance(value, (tuple, list)):
            return type(value)([self._any(each, kind) for each in value])
        if isinstance(value, dict):
            return {self._any(key, None): self._any(one, kind) for key, one in value.items()}
        return value

    def _value(self, text: str, kind: Kind | None) -> str:
        if not text or kind == "keep":
            return text
        replace_it = self._by_kind.get(kind)
        if replace_it is not None:
            return replace_it(text)
        return self._pseudonyms.name(_PREFIXES.get(kind or "", "name"), text)

    def _names(self, names: FixNames) -> FixNames:
        """The names with which fixes are worded again when equal findings are grouped."""
        made = self._pseudonyms
        return replace(
            names,
            target=made.target(names.target) if names.target else "",
            server_id=made.identity(names.server_id),
            image_id=made.identity(names.image_id),
            server=names.server and self._struct(names.server),
        )

    def _rule(self, rule: RuleInfo) -> RuleInfo:
        if rule.id in shipped_catalogue().ids or rule.id.startswith("SUP"):
            return rule
        return replace(rule, summary=self.text(rule.summary), manual="", settings=())


def _without_values(request: ReportRequest) -> ReportRequest:
    """The request without values chosen by the user; it still shows that there were some."""
    return replace(
        request,
        owners=request.owners and ("*",),
        domains=request.domains and ("*",),
        nics=request.nics and ("*",),
        baseline=request.baseline and "*",
        exclude=request.exclude and ("*",),
        servers=request.servers and ("*",),
    )


def _kind_of(kind: Kind | None, record: msgspec.Struct) -> Kind | None:
    if kind == "subject" and isinstance(record, Audited):
        return SUBJECTS[record.scope]
    if kind == "subject" and isinstance(record, Ref):
        if record.kind == "link":  # other names may hold a guest's or a network's
            return "keep" if ADAPTER.fullmatch(record.name or "") else "dev"
        return SUBJECTS.get(record.kind, "vm")
    return kind


@cache
def _plan(record: type[msgspec.Struct]) -> tuple[tuple[str, Kind | None], ...]:
    """The fields that can hold text, each with its kind; None: free text."""
    hints = typing.get_type_hints(record)
    kinds = _kinds(record)
    return tuple(
        (field, kinds.get(field))
        for field in record.__struct_fields__
        if field in kinds or _may_hold_text(hints[field])
    )


def _kinds(record: type[msgspec.Struct]) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for base in reversed(record.__mro__):
        if issubclass(base, msgspec.Struct):
            found.update(KINDS.get(base, {}))
    return found


def _may_hold_text(hint: object) -> bool:
    """False for numbers and for words from a fixed set."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(map(_may_hold_text, typing.get_args(hint)))
    return origin is not typing.Literal and hint not in (int, float, bool, bytes, type(None))
