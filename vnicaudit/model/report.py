"""Results of an audit: the records behind ``vnicaudit.report/1`` and ``vnicaudit.nics/1``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from vnicaudit.model.finding import (
    AuditedScope,
    Confidence,
    Crashed,
    Finding,
    FindingOwner,
    Location,
    Severity,
    Skipped,
)
from vnicaudit.model.fix import FixRefusal
from vnicaudit.model.host import HostCpus
from vnicaudit.model.names import NO_NAMES, FixNames, file_title
from vnicaudit.model.nic import Resolved

if TYPE_CHECKING:
    from vnicaudit.model.names import RuleInfo

# Reasons why a host, or a part of it, was not read.

FailureKind = Literal["unreachable", "refused", "authentication", "deadline", "broken", "internal"]
"""``unreachable``: no connection could be made (name, route, port, timeout); ``refused``: its
libvirt or SSH refused (no permission, no such driver); ``authentication``: keys, certificates or
SASL; ``deadline``: it stopped answering; ``broken``: the connection was lost in the middle, or
answers made no sense; ``internal``: this program failed. Only ``unreachable``, ``deadline`` and
``broken`` are worth a retry."""

WORTH_A_RETRY: frozenset[FailureKind] = frozenset({"unreachable", "deadline", "broken"})

_KINDS: dict[str, FailureKind] = {kind: kind for kind in get_args(FailureKind)}


def failure_kind(code: str) -> FailureKind | None:
    """The kind for a code; None for an unknown code."""
    return _KINDS.get(code)


# The part of a fleet that an audit covered.


class Coverage(msgspec.Struct, frozen=True):
    """The part of a fleet that an audit checked; for the rest, the earlier state is kept.

    ``rules``: ids of the rules that were checked; ``limit``: the pattern that chose hosts (empty:
    all); ``host_share`` and ``nic_share``: parts of a sample (1.0: all of them) drawn with
    ``seed``. ``hosts``: how many were to be read, of ``inventory``.
    """

    rules: tuple[str, ...]
    limit: str = ""
    host_share: float = 1.0
    nic_share: float = 1.0
    seed: int | None = None
    hosts: int = 0
    inventory: int = 0

    @property
    def is_whole(self) -> bool:
        """True if every host and NIC of the inventory was to be checked."""
        return not self.limit and not self.is_sample

    @property
    def is_sample(self) -> bool:
        """True if only some hosts or NICs were drawn."""
        return not self.host_share == self.nic_share == 1.0


REPORT_SCHEMA: Literal["vnicaudit.report/1"] = "vnicaudit.report/1"
NICS_SCHEMA: Literal["vnicaudit.nics/1"] = "vnicaudit.nics/1"


class Tool(msgspec.Struct, frozen=True):
    """The program that wrote the report."""

    name: str
    version: str


class ReadError(msgspec.Struct, frozen=True):
    """An input that could not be read: why, and where."""

    message: str
    file: str | None = None
    line: int | None = None


class LostRead(ReadError, frozen=True):
    """A part of a live host that was not read because the host, or the connection to it, failed;
    ``failure`` says how. ``whole`` False: only a guest did not answer, which is no reason to retry
    the host."""

    failure: FailureKind = "broken"
    whole: bool = True


class PutAside(msgspec.Struct, frozen=True):
    """A backup copy of a configuration (``nova.conf.rpmsave``), which no service reads: it is not
    judged. ``is_explicit``: the user named this very file."""

    file: str
    is_explicit: bool = False


class NotJudged(msgspec.Struct, frozen=True):
    """A part of a file that was noticed but not judged (a nova.conf inside a script): what it is,
    how to get it judged, and where it begins (``line`` 0: something without lines, such as a
    cluster)."""

    message: str
    file: str
    line: int


class TargetResult(msgspec.Struct, frozen=True):
    """How reading one target went. ``error`` is the first of ``errors``, as text; ``unread`` counts
    all of them (``errors`` keeps the first thousand). ``notes`` say what else matters: objects
    hidden from this user, or that could not be joined. ``calls`` counts the calls to each API of a
    cloud. ``not_judged``: parts of files (the first thousand of ``not_judged_count``).
    ``passed_over``: a named file of which nothing was read, without an error
    (``--skip-unrecognised``). ``unrecognised``: files of a folder in which nothing was recognised
    (the first ten thousand of ``unrecognised_count``)."""

    target: str
    status: Literal["ok", "partial", "failed"]
    error: str | None = None
    domains: int = 0
    nics: int = 0
    errors: tuple[ReadError, ...] = ()
    unread: int = 0
    notes: tuple[str, ...] = ()
    calls: dict[str, int] = {}
    not_judged: tuple[NotJudged, ...] = ()
    not_judged_count: int = 0
    passed_over: bool = False
    unrecognised: tuple[str, ...] = ()
    unrecognised_count: int = 0
    name: str = ""
    """Of the host in the inventory of a fleet."""


class NicRow(msgspec.Struct, frozen=True, kw_only=True):
    """One NIC in ``vnicaudit.nics/1``."""

    domain: str
    uuid: str | None
    index: int
    mac: str | None
    type: str
    actual_type: str | None
    origin: str
    owner: str
    arch: str | None
    machine: str | None
    vcpus: int | None
    active: bool | None
    target_dev: str | None
    model: Resolved[str]
    vhost: Resolved[bool]
    queues: Resolved[int]
    rx_queue_size: Resolved[int]
    tx_queue_size: Resolved[int]
    starts: bool
    location: Location
    wiring: str | None = None
    """How KubeVirt connects it (docs/how-to/kubevirt.md), or the mode of a macvtap
    (``direct/vepa``); null elsewhere."""
    source: str | None = None
    """The bridge, network, device or socket that it is connected to; null: none, or unknown."""


class Suppressed(msgspec.Struct, frozen=True):
    """An accepted finding, with the reason."""

    finding: Finding
    reason: str
    source: str
    """Where the suppression is: a configuration file, the domain's metadata or a comment."""
    owner: str = ""
    """The person or team responsible for it; empty: not stated."""
    until: str = ""
    """The last day it applies (ISO 8601); empty: no end."""
    in_source: bool = False
    """True if the suppression is part of the judged object: a comment or a domain's metadata."""


class Placed(msgspec.Struct, frozen=True):
    """Image, flavor, project and host of a server of a cloud; empty: unknown."""

    image: str = ""
    image_id: str = ""
    flavor: str = ""
    project: str = ""
    project_id: str = ""
    host: str = ""


DataPath = Literal["slow", "fast", "unknown", "does not start"]
"""How packets of a NIC travel. ``slow``: the model is emulated, or virtio has no vhost, so that
QEMU copies every packet. ``fast``: vhost, or a data path of its own (passthrough, vhost-user,
vDPA)."""
DATA_PATHS: tuple[DataPath, ...] = ("does not start", "slow", "unknown", "fast")

ReadingKind = Literal["definition", "running", "other"]


class Reading(msgspec.Struct, frozen=True):
    """Identity of a guest among several readings of it. ``kind``: its ``definition``,
    where a change of it is made; something that is ``running`` by a definition elsewhere; or any
    ``other``, such as a snapshot, or a definition that its owner rewrites. ``macs``: those of its
    NICs (:func:`~vnicaudit.audit.judging.macs.station_mac`), each with the declared model (None:
    it is not known, or several NICs have that MAC). ``running``: of a guest that still runs, as far
    as is known, its record in MessagePack, to be judged again beside its definition."""

    name: str
    macs: dict[str, str | None]
    place: Location
    kind: ReadingKind
    running: bytes = b""


class Audited(msgspec.Struct, frozen=True):
    """The judgement of one domain, host or description (a configuration file, an image, …): one
    unit of the stream between the auditor and the report writers."""

    target: str
    subject: str
    """The name of the domain, host, image…, or the configuration file."""
    uuid: str | None = None
    owner: FindingOwner = "libvirt"
    scope: AuditedScope = "domain"
    nics: int = 0
    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    baselined: tuple[Finding, ...] = ()
    """Findings that are in the baseline, and so not reported."""
    filtered: int = 0
    """Number of findings that are not reported because of ``--level`` and similar options."""
    file: str | None = None
    """The file of a description; None for domains and hosts."""
    server: str = ""
    """Nova's name for a domain that is a server of OpenStack, if its cloud was read."""
    placed: Placed | None = None
    """Image, flavor, project and host of such a server."""
    fix_names: FixNames = NO_NAMES
    """Names used in its fixes."""
    paths: tuple[DataPath, ...] = ()
    """How the packets of each of its NICs travel."""
    paths_before: tuple[DataPath, ...] = ()
    """The same as told of an earlier reading of this guest, which ``paths`` takes the place of."""
    rows: tuple[NicRow, ...] = ()
    """Its NICs, declared and effective, if the audit was to include them (``with_rows`` of the
    work)."""
    reading: Reading | None = None
    """For :mod:`vnicaudit.audit.same_guest` alone, which removes it."""
    guest: int = 0
    """The number of the guest, which several readings can show; 0: this is the only one."""
    template_key: str = ""
    """Of a guest that a replica set or a pool makes, and of these themselves: the same text, by
    which what their template causes is told once."""
    again: bool = False
    """A judgement of the same guest with findings came before: it is not counted again."""
    cpus: HostCpus | None = None
    """The partition matrix of a host whose CPUs somebody divided."""

    @property
    def title(self) -> str:
        """The subject as headings name it: a file ``-`` is ``standard input``."""
        return file_title(self.subject) if self.scope == "config" else self.subject


class ReportRequest(msgspec.Struct, frozen=True):
    """The findings, rules and files that were requested: anything missing from the report may have
    been excluded. ``*`` stands for redacted values (``--redact``).

    ``rules``: ids of those that ran. ``level`` and ``confidence``: the lowest that are reported.
    ``owners``, ``domains`` and ``nics``: empty if all are reported.
    ``baseline``: the file of known findings. ``exclude``: patterns of files. ``changed_since``:
    only files that differ from a Git revision were read. ``servers``: options that selected servers
    of a cloud (``--project mail``). ``assume_qemu``, ``assume_libvirt`` and ``nova_release``: the
    versions it was judged for; empty if none was assumed. ``workload``: what hosts were said to
    be used for; empty if that was not said.
    """

    rules: tuple[str, ...] = ()
    level: Severity = "info"
    confidence: Confidence = "low"
    owners: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    nics: tuple[str, ...] = ()
    baseline: str = ""
    exclude: tuple[str, ...] = ()
    changed_since: bool = False
    servers: tuple[str, ...] = ()
    assume_qemu: str = ""
    assume_libvirt: str = ""
    nova_release: str = ""
    skip_unrecognised: bool = False
    workload: str = ""


class RunInfo(msgspec.Struct, frozen=True):
    """Facts of an audit that are known when it starts."""

    tool: Tool
    started: str
    """UTC, RFC 3339."""
    rules: Callable[[], tuple[RuleInfo, ...]]
    """The rules of this run, called by the writers that list them: it loads every rule."""
    request: ReportRequest | None = None
    """None: unknown."""


class Summary(msgspec.Struct, frozen=True):
    """Totals, known when an audit ends. Maps are ordered by key."""

    domains: int = 0
    nics: int = 0
    read_again: int = 0
    """Readings of guests that had been read before: these count as one domain."""
    findings: int = 0
    by_severity: dict[str, int] = {}
    by_rule: dict[str, int] = {}
    skipped: dict[str, int] = {}
    """Rule -> number of NICs, domains or hosts for which it could not be judged."""
    crashed: int = 0
    suppressed: int = 0
    baselined: int = 0
    baseline_gone: int = 0
    """Findings of the baseline that no longer occur and can be removed from it."""
    filtered: int = 0
    """Findings that are left out by ``--level``, ``--owner``, ``--domain``, ``--nic`` or their
    confidence."""
    fixed: int = 0
    """Problems that were fixed in place before the audit: they are not among the findings."""
    fixed_files: int = 0
    refused: int = 0
    """Requested fixes that could not be made in place; the problems are among the findings."""


class NotFixed(msgspec.Struct, frozen=True):
    """A finding that could not be fixed in place: its fingerprint, and why."""

    fingerprint: str
    code: FixRefusal
    reason: str


class RunEnd(msgspec.Struct, frozen=True):
    """Facts of an audit that are known when it ends. ``not_fixed``: the first of those that
    :attr:`Summary.refused` counts."""

    finished: str
    targets: tuple[TargetResult, ...]
    summary: Summary
    not_fixed: tuple[NotFixed, ...] = ()
    coverage: Coverage | None = None
    """The part of a fleet that the audit covered."""

    @property
    def is_partial(self) -> bool:
        """True if something could not be read, or a rule crashed."""
        return bool(self.summary.crashed) or any(one.status != "ok" for one in self.targets)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.report/1``: one complete audit."""

    schema: Literal["vnicaudit.report/1"] = REPORT_SCHEMA
    tool: Tool
    started: str
    request: ReportRequest | None = None
    """The request of the audit; missing if it is unknown."""
    finished: str
    targets: tuple[TargetResult, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    crashed: tuple[Crashed, ...]
    suppressed: tuple[Suppressed, ...] = ()
    coverage: Coverage | None = None
    """For a fleet: the part of it that was audited."""
    summary: Summary = Summary()
    not_fixed: tuple[NotFixed, ...] = ()
    """Fixes that should have been made in place but were not; missing if there are none."""


class NicsReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.nics/1``."""

    schema: Literal["vnicaudit.nics/1"] = NICS_SCHEMA
    nics: tuple[NicRow, ...]


# The explanation of one NIC, layer by layer: the record behind ``vnicaudit.explain/1``.


EXPLAIN_SCHEMA: Literal["vnicaudit.explain/1"] = "vnicaudit.explain/1"


class LayerFact(msgspec.Struct, frozen=True):
    """One fact, as one layer states it. ``wins``: it decides what the guest gets; ``note`` says
    why, or why not."""

    fact: str
    value: str
    wins: bool = False
    note: str = ""


class Layer(msgspec.Struct, frozen=True):
    """One place that describes a NIC: a definition, a network, a QEMU command line, a host.

    ``missing`` says why nothing is known from this layer, and which source would help; empty if the
    layer was read (it may still have no facts).
    """

    name: str
    place: str | None = None
    facts: tuple[LayerFact, ...] = ()
    missing: str = ""


class NextCheck(msgspec.Struct, frozen=True):
    """A place to look at next if a NIC is slow: ``command`` shows it; ``look`` says what it should
    show. Capital words in a command stand for what is not known here."""

    area: Literal["guest", "host", "path", "measure"]
    command: str
    look: str


class ServerName(msgspec.Struct, frozen=True):
    """The server of OpenStack that a domain is. None: unknown (only admins can see the host)."""

    id: str
    name: str
    cloud: str
    """The name that the user gave, ``openstack:NAME``."""
    project: str | None = None
    """The id of its project."""
    project_name: str | None = None
    host: str | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.explain/1``: one NIC, layer by layer, and its problems. ``server`` None: it is
    not a server of a cloud that was read."""

    schema: Literal["vnicaudit.explain/1"] = EXPLAIN_SCHEMA
    nic: NicRow
    server: ServerName | None = None
    layers: tuple[Layer, ...]
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    crashed: tuple[Crashed, ...] = ()
    next_checks: tuple[NextCheck, ...] = ()
    """If it is slow all the same: only what is not known yet."""


class Explained(msgspec.Struct, frozen=True):
    """One domain among which a NIC to explain is looked for. ``names``: all names that a user may
    call it by; ``is_asked_for``: it is the domain that the user named, or any will do; ``bare``:
    why a domain that was named has no NIC."""

    names: tuple[str, ...]
    is_asked_for: bool
    macs: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    bare: str = ""
