"""Definition of a rule: one :class:`Rule` in a module of :mod:`vnicaudit.rules` named after its id.

The module's docstring is the rule's manual page. A rule is pure: subjects
(:mod:`vnicaudit.model.subject`) in, problems out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Generic, Literal, TypeVar

import msgspec

from vnicaudit.model.decoding import converted
from vnicaudit.model.domain import DescriptionKind
from vnicaudit.model.finding import Change, Confidence, Severity
from vnicaudit.model.fix import Fix
from vnicaudit.model.location import Location
from vnicaudit.model.subject import (
    ConfigSubject,
    DomainSubject,
    FlavorSubject,
    HostSubject,
    ImageSubject,
    MacSubject,
    PreferenceSubject,
    SiteSubject,
    Subject,
)

Scope = Literal["nic", "domain", "host", "config", "image", "flavor", "preference", "site", "mac"]

S = TypeVar("S", contravariant=True)


class Problem(msgspec.Struct, frozen=True):
    """One thing a rule found. The auditor adds which NIC, where, and the fingerprint.

    ``field`` is the declared field it hangs on (points the finding at its line);
    ``severity`` None means the rule's own; ``fix`` is the whole text where no ``change`` can be
    made, and is added to it where one can: a sentence, or a value of :mod:`vnicaudit.model.fix`
    where commands are in it or each owner has words of its own.
    """

    message: str
    field: str | None = None
    severity: Severity | None = None
    confidence: Confidence = "high"
    change: Change | None = None
    fix: str | Fix = ""
    related: tuple[Location, ...] = ()
    """Other places that have to do with it; of descriptions only: a NIC has no place here."""


class Fact(msgspec.Struct, Generic[S], frozen=True):
    """Something that a source may not tell of a subject. ``known`` says whether this one does;
    ``tell`` completes "needs …": what would tell it."""

    known: Callable[[S], bool]
    tell: str
    live: bool = False
    """Whether only a live host tells it: no definition does."""


class Judge(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """How a rule judges one kind of subject."""

    scope: ClassVar[Scope]
    applies: Callable[[S], bool]
    """Whether the rule has anything to say about a subject; asked before ``needs``."""
    check: Callable[[S], Iterable[Problem]]
    """The problems of a subject of which all ``needs`` are known."""
    needs: tuple[Fact[S], ...] = ()
    """Facts without which the rule is skipped, and reported as skipped."""


class NicJudge(Judge[Subject], frozen=True):
    """Asked once per NIC."""

    scope: ClassVar[Scope] = "nic"


class DomainJudge(Judge[DomainSubject], frozen=True):
    """Asked once per domain."""

    scope: ClassVar[Scope] = "domain"


class HostJudge(Judge[HostSubject], frozen=True):
    """Asked once per host."""

    scope: ClassVar[Scope] = "host"


class ConfigJudge(Judge[ConfigSubject], frozen=True):
    """Asked once per configuration file of nova-compute."""

    scope: ClassVar[Scope] = "config"


class ImageJudge(Judge[ImageSubject], frozen=True):
    """Asked once per image."""

    scope: ClassVar[Scope] = "image"


class FlavorJudge(Judge[FlavorSubject], frozen=True):
    """Asked once per flavor."""

    scope: ClassVar[Scope] = "flavor"


class PreferenceJudge(Judge[PreferenceSubject], frozen=True):
    """Asked once per KubeVirt preference."""

    scope: ClassVar[Scope] = "preference"


class SiteJudge(Judge[SiteSubject], frozen=True):
    """Asked once per compute node that differs from others of its site, when all have been read."""

    scope: ClassVar[Scope] = "site"


class MacJudge(Judge[MacSubject], frozen=True):
    """Asked once per NIC that shares its MAC address, when all have been read."""

    scope: ClassVar[Scope] = "mac"


AnyJudge = (
    NicJudge
    | DomainJudge
    | HostJudge
    | ConfigJudge
    | ImageJudge
    | FlavorJudge
    | PreferenceJudge
    | SiteJudge
    | MacJudge
)


Judges = tuple[AnyJudge, ...]


class RuleSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """Settings of a rule in `vnicaudit.toml`: one field per key, each with a default and, by
    :func:`setting`, with a description."""


T = TypeVar("T", bound=RuleSettings)


def setting(
    description: str, *, at_least: int | None = None, at_most: int | None = None
) -> msgspec.Meta:
    """Description and limits of a key, for ``Annotated``."""
    return msgspec.Meta(description=description, ge=at_least, le=at_most)


class Adjustable(msgspec.Struct, frozen=True):
    """A rule that can be set: by which keys, and the judges that come of a table with them."""

    kind: type[RuleSettings]
    judges: Callable[[Mapping[str, object]], Judges]
    """Raises msgspec.ValidationError for a table that is not of this kind."""


def adjustable(kind: type[T], judges: Callable[[T], Judges]) -> Adjustable:
    """A rule whose judges depend on settings of this kind."""
    return Adjustable(kind, lambda table: judges(converted(table, kind)))


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. Its id is the name of its file in capitals, its manual the file's docstring."""

    name: str
    """Short kebab-case name, unique."""
    severity: Severity
    """Of a problem that names no other."""
    judges: Judges
    """What it judges, its main scope first; at most one judge per scope."""
    groups: tuple[str, ...] = ()
    """Words by which it can be selected together with others: ``models``, ``nova``."""
    forms: tuple[DescriptionKind, ...] = ("definition",)
    """Of NICs and domains: the forms it speaks to. Most rules look at what only libvirt and QEMU
    know."""
    settings: Adjustable | None = None
    """Where something can be set for it; ``judges`` are then those by the defaults."""
    unasked: bool = False
    """What it finds on a server comes about by itself, and no change is proposed: a plan tells what
    it leaves."""
