"""A judgement on one thing, the edit it proposes, its place and its owner."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, NewType, get_args

import msgspec

from vnicaudit.model.fix import Fix

# The place of a fact in a target.


# Descriptions that are judged beside domains and hosts: objects that decide which NICs a guest
# will get.


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration of Nova, an image, a flavor or a KubeVirt preference."""

    scope: ClassVar[DescribedScope]
    described_for: ClassVar[Owner]
    """The owner of the described object."""

    comments: tuple[AcceptingComment, ...] = ()
    """Comments of its file that accept findings."""
    id: str | None = None
    """The id, in a live cloud."""

    @property
    def ref(self) -> Ref:
        """The object itself, for a finding."""
        raise NotImplementedError

    def place(self, field: str | None) -> Location:
        """Where a field is set; the description itself for None, and if the field is not set."""
        raise NotImplementedError

    def first_line(self) -> int | None:
        """The line on which it begins; None: its file describes nothing else."""
        return None


class NamedDescription(Description, frozen=True):
    """A description with a name, in a file that may describe others too, or in a cloud."""

    target: str
    name: str
    location: Location

    @property
    def ref(self) -> Ref:
        """The object, for a finding."""
        return Ref(self.scope, self.name or None, self.id)

    def first_line(self) -> int | None:
        """The line on which it begins."""
        return self.location.line


# Comments of a file that accept findings, as the file's descriptions carry them.


class AcceptingComment(msgspec.Struct, frozen=True):
    """A comment on a ``line`` of a ``file``. It accepts findings on the lines ``first`` to ``last``
    (0: a finding without a line); ``entry`` holds its rule, reason and settings.

    All descriptions of a file carry all of its comments. ``reporter``: this is the first
    description, with which mistakes in the comments are reported.
    """

    file: str
    line: int
    first: int
    last: int
    entry: tuple[tuple[str, str], ...]
    reporter: bool = True


class Location(msgspec.Struct, frozen=True):
    """A place in a target.

    ``target`` is the name that the user gave; ``file`` the file inside it (None for a live API);
    ``line`` and ``column`` are 1-based, the column in characters; ``xpath`` points into the
    document, with its number among several (``/domain[2]/devices/interface[1]``) if a file holds
    more than one. In YAML it is a JSON pointer (``/spec/template``, RFC 6901), after the 1-based
    number of the document (``[2]/spec/template``) if there are several, or the name of a live
    cluster's object (``[shop/web]/spec/template``).
    """

    target: str
    file: str | None = None
    line: int | None = None
    xpath: str | None = None
    column: int | None = None

    @property
    def object(self) -> str:
        """The object of a live cluster in which this is; empty: it is in none."""
        xpath = self.xpath or ""
        return xpath[1:].partition("]")[0] if self.file is None and xpath[:1] == "[" else ""

    @property
    def pointer(self) -> str:
        """The xpath or JSON pointer inside that object."""
        return (self.xpath or "").removeprefix(f"[{self.object}]")

    def __str__(self) -> str:
        if self.object:
            return f"{self.target} {self.object}"
        parts = (self.file or self.target, self.line, self.column)
        return ":".join(str(part) for part in parts if part is not None)


# Owners of definitions: a change is made through the owner, never behind its back.


KnownOwner = Literal[
    "libvirt", "qemu", "nova", "kubevirt", "ovirt", "opennebula", "proxmox", "cloudstack", "ganeti",
    "incus", "terraform",
]  # fmt: skip
"""``libvirt``: a user or a script that uses libvirt; ``qemu``: somebody who starts QEMU without
libvirt."""


class OutsideOwner(msgspec.Struct, frozen=True):
    """An owner added by a third-party platform, or named by a plan: how it treats its definitions
    cannot be derived from its name."""

    name: str
    rewrites: str = ""
    """The name of the owner, if it rewrites the definition for each start; empty: it does not."""


Owner = KnownOwner | OutsideOwner
"""The owner that regenerates a definition."""

FindingOwner = Owner | Literal["host", "vnicaudit"]
"""``host``: a host's own settings; ``vnicaudit``: this program's settings, including those in the
metadata of a domain."""

SETTINGS: Literal["vnicaudit"] = "vnicaudit"
"""The owner of findings about suppressions."""

_REWRITTEN_BY: dict[str, str] = {
    "nova": "Nova",
    "kubevirt": "KubeVirt",
    "ovirt": "oVirt",
    "opennebula": "OpenNebula",
    "proxmox": "Proxmox VE",
    "cloudstack": "CloudStack",
    "ganeti": "Ganeti",
    "incus": "Incus or LXD",
}

_KNOWN: dict[str, KnownOwner] = {name: name for name in get_args(KnownOwner)}


def owner_named(name: str) -> Owner:
    """The owner with that name, known here or not."""
    return _KNOWN.get(name) or OutsideOwner(name)


def rewritten_by(owner: FindingOwner) -> str:
    """The name of an owner that rewrites the definition at each start, so that libvirt's persistent
    definition does not show the next one. Empty: it does not."""
    return owner.rewrites if isinstance(owner, OutsideOwner) else _REWRITTEN_BY.get(owner, "")


def name_of(keeper: FindingOwner) -> str:
    """Name of an owner in reports and plans."""
    return keeper if isinstance(keeper, str) else keeper.name


# The names of platforms, as a separate type: plug-ins add platforms.


PlatformName = NewType("PlatformName", str)
"""Name of a platform, as registered, and as used by a domain or a unit of a plan."""

DOMAIN_XML = PlatformName("domain_xml")
HOST = PlatformName("host")
INFRA_CODE = PlatformName("infra_code")
KUBEVIRT = PlatformName("kubevirt")
LIBVIRT = PlatformName("libvirt")
NOVA_CONF = PlatformName("nova_conf")
OPENSTACK = PlatformName("openstack")
QEMU = PlatformName("qemu")


# The subject of a finding or a step, by name.


NamedKind = Literal["image", "flavor", "preference", "cluster"]
"""Descriptions that have a name of their own."""
SubjectKind = Literal["nic", "domain", "server", NamedKind, "host", "link", "config"]
DescribedScope = Literal["config", NamedKind]
AuditedScope = Literal["domain", "interface", "host", "config", NamedKind, "site", "mac"]
"""What a judgement is about; :data:`vnicaudit.audit.kinds.KINDS` has a row for each."""
Scope = Literal["nic", "guest", "link"] | AuditedScope
"""What a rule judges: NICs are judged with their domain, what a cluster says of a VM too
(``guest``), and links with their host."""


class Ref(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The thing that a finding or a step is about. ``name`` and ``id`` are those of a domain,
    server, image…; of a NIC, those of its domain; a link's ``name`` is its own on its host.
    ``name`` None: the judgement or the location names it (a host, a file), or only its id is known.
    ``id`` is a UUID, the id in a cloud, or None for something described in a file. The other fields
    are a NIC's; ``index`` None: it is known only by its MAC address, as in a suppression."""

    kind: SubjectKind
    name: str | None = None
    id: str | None = None
    mac: str | None = None
    index: int | None = None
    target_dev: str | None = None

    @property
    def name_or_id(self) -> str:
        """The words for it in a sentence; empty: it has neither."""
        return self.name or self.id or ""


# A judgement on one thing, and the edit it proposes.


Severity = Literal["info", "low", "medium", "high", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "error")
"""From lowest to highest. ``error``: it will not start, or is insecure."""

Confidence = Literal["low", "medium", "high"]
"""Strength of the evidence: ``high`` read from what runs, or follows from the definition alone;
``medium`` inferred; ``low`` a hint."""
CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")
"""From lowest to highest."""


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proposed edit in model terms, never in XML or YAML. ``old`` None: not set before;
    ``new`` None: to be removed. ``reason`` says why the edit is safe or unsafe."""

    field: str
    old: str | None
    new: str | None
    safe: bool
    reason: str = ""


class Finding(msgspec.Struct, frozen=True):
    """One instance of one rule.

    ``fix`` is worded for ``owner``: the place where the definition is kept. ``fixes`` are the
    values that ``fix`` was worded from. ``fingerprint`` identifies the finding across audits (from
    rule, domain UUID and MAC, or file and xpath without those; never from a line number).
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    about: Ref
    location: Location
    owner: FindingOwner
    change: Change | None
    fingerprint: str
    fix: str = ""
    related: tuple[Location, ...] = ()
    """Other places involved, such as one that overrides the finding's own place or contradicts
    it."""
    fixes: tuple[Fix, ...] = ()


INVALID_SUPPRESSION = "SUPP003"
"""The ``rule`` of findings about suppressions that cannot be used."""

EVERY_RULE = "*"
"""The ``rule`` of a Skipped entry that stands for all rules (a domain that is not QEMU's)."""
ALL_BUT_THE_MODEL = "*-model"
"""The ``rule`` of a Skipped entry that stands for all rules except those on a NIC's model (a
template decides the rest)."""


class Skipped(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rule that could not be judged. ``needs`` names the missing fact and a source for it.
    ``live``: only a live host has it, so that no file could have been judged better."""

    rule: str
    about: Ref
    needs: str
    live: bool = False


class Crashed(msgspec.Struct, frozen=True):
    """A rule that failed. It does not count as passed: the run ends with exit code 3."""

    rule: str
    about: Ref
    error: str


# Notices of findings as they come up, and the messages that carry them.


NoticeForm = Literal["json", "slack", "matrix", "alertmanager"]
"""``json``: an object of this program's own (docs/how-to/scheduled-audit.md); ``slack``: an
incoming webhook of Slack, or of a compatible service (Mattermost, Rocket.Chat); ``matrix``: an
event in a room; ``alertmanager``: alerts of its API v2."""


class NoticeMessage(msgspec.Struct, frozen=True):
    """One message: its body (JSON), and the fingerprints of the findings in it."""

    body: bytes
    findings: tuple[str, ...]


# Vocabulary for guests: how they and their NICs are described, architectures, and readiness for
# virtio.


Readiness = Literal[
    "ready", "likely-ready", "ready-transitional", "needs-driver", "unknown", "not-supported"
]
"""Does this guest support virtio? ``likely-ready``: it has a virtio disk, but nothing rules out
that the system is Windows. See :mod:`vnicaudit.knowledge.readiness`."""

DefinitionForm = Literal["raw", "dump", "live", "qemu", "terraform"]
"""The form of a definition: ``raw`` (written by hand or a tool, defaults not filled in), ``dump``
(written by libvirt: what it dropped is gone), ``live`` (the running definition), ``qemu`` (a
command line) or ``terraform`` (a ``libvirt_domain``, which its provider hands to libvirt one to
one: as ``raw``, but not XML)."""

DescriptionKind = Literal["definition", "manifest", "server"]
"""How a domain is described: by a ``definition`` of libvirt or QEMU, or by the source of a future
one: a ``manifest`` (KubeVirt), or Nova's record of a ``server`` (OpenStack)."""

Form = DefinitionForm | Literal["manifest", "server"]
"""The kind of description, with the form of a definition, which decides the title of its layer."""

DESCRIPTORS: Final = "open descriptors"
LOG: Final = "log"
"""Evidence from the log of a start, which may belong to a running process or may have failed."""

MAYBE = "?"
"""In :attr:`vnicaudit.model.nic.NicConfig.behind`: the alias that the NIC will have is unknown."""

VIRTIO = frozenset({"virtio", "virtio-transitional", "virtio-non-transitional"})
"""``virDomainNetIsVirtioModel``: only these have vhost, queues and rings."""

# by the names that libvirt uses (virArch)
S390 = frozenset({"s390x", "s390"})
X86 = frozenset({"x86_64", "i686"})
PPC64 = frozenset({"ppc64", "ppc64le"})
ARM = frozenset({"armv6l", "armv7l", "armv7b", "aarch64"})
RISCV = frozenset({"riscv32", "riscv64"})
WINDOWS_RUNS_ON = X86 | {"aarch64", "armv7l"}
"""Those of libvirt's architectures on which Windows runs."""
