"""The kind of identifier in each field of a record. A field that is not listed is treated as free
text and redacted by :mod:`vnicaudit.reports.redaction.texts`, so a new field cannot leak
anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from vnicaudit.model.domain import Domain
from vnicaudit.model.effective import Resolved
from vnicaudit.model.explanation import ServerName
from vnicaudit.model.finding import Change, Crashed, Finding, Skipped
from vnicaudit.model.fleet import Coverage, FleetAudit, HostReading, InventoryHost
from vnicaudit.model.location import AcceptingComment, Location
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.nic import Nic, RunningNic
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.owner import OutsideOwner
from vnicaudit.model.refs import DomainRef, FlavorRef, ImageRef, NicRef, PreferenceRef, ServerRef
from vnicaudit.model.report import (
    Audited,
    AuditedScope,
    NicRow,
    NotFixed,
    NotJudged,
    Placed,
    PutAside,
    ReadError,
    RunEnd,
    Summary,
    Suppressed,
    TargetResult,
    Tool,
)
from vnicaudit.model.rule_info import RuleSetting
from vnicaudit.model.server import Aggregate, CloudServer, NodeFacts
from vnicaudit.reports.redaction.pseudonyms import Prefix

Kind = Prefix | Literal[
    "keep", "uuid", "mac", "path", "pattern", "pointer", "target", "mark", "subject"
]  # fmt: skip
"""A prefix: a name of that kind. ``keep``: identifies nothing. ``mark``: a digest. ``pattern``:
matches names of hosts and groups. ``subject``: depends on the scope of the record."""

NAMES: frozenset[Kind] = frozenset(
    {
        "vm", "host", "site", "group", "project", "image", "flavor", "preference", "cloud", "dev",
        "uuid", "path", "target", "subject",
    }
)  # fmt: skip
"""Kinds that may occur in free text too."""

SUBJECTS: Mapping[AuditedScope, Kind] = {
    "domain": "vm", "host": "host", "config": "path", "image": "image", "flavor": "flavor",
    "preference": "preference", "site": "host", "mac": "vm",
}  # fmt: skip
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
    NicRef: {"domain": "vm", "uuid": "uuid", "mac": "mac", "target_dev": "dev"},
    DomainRef: _NAMED,
    ServerRef: {"name": "vm", "id": "uuid"},
    ImageRef: {"name": "image", "id": "uuid"},
    FlavorRef: {"name": "flavor", "id": "uuid"},
    PreferenceRef: {"name": "preference"},
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
    InventoryHost: {
        "name": "host", "uri": "target", "site": "site", "groups": "group",
    },
    HostReading: {"started": "keep", "finished": "keep", "digest": "mark"},
    FleetAudit: {
        "id": "keep", "started": "keep", "finished": "keep", "version": "keep",
        "chosen_hosts": "host",
    },
}  # fmt: skip
