"""An image of a cloud -> a step, and what of it is left as it is.

What is set on an image is for servers that are made of it from then on (Nova keeps the properties
of a server since it was made).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change, Finding, NicRef
from vnicaudit.model.openstack import Image
from vnicaudit.model.plan import CloudPart, Left, ModeOption, Step
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud.judged import found_in
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.wishes import UNSAFE
from vnicaudit.text.cloud_names import client

ANY_MODE = tuple(
    ModeOption(mode, possible=True, reason="it is for new servers at once, whatever the mode")
    for mode in ("next-boot", "restart", "hotswap")
)
_OTHERS = (
    "the image belongs to project {owner}: ask there for it, or make one of your own "
    "({openstack} server image create, {openstack} image create) and set it there"
)
_NEW = "It is for servers made of it from now on."
_MADE = (
    "{servers} made of it {keep} what Nova has kept for {them}: what is to be changed of {them} is "
    "planned by itself."
)


class ImagePlanner:
    """Plans one image after the other."""

    def __init__(self, work: AuditWork, options: PlanOptions) -> None:
        self._work = work
        self._options = options

    def plan(
        self, image: Image, target: str, projects: frozenset[str] | None
    ) -> Iterator[Step | Left]:
        """``projects``: the only ones whose images may be changed; None: any."""
        try:
            findings = found_in(self._work.description(image, target))
        except RefusedError as error:
            yield _left(image, target, (), str(error))
            return
        proposed = [(one, one.change) for one in findings if one.change is not None]
        held: dict[str, list[str]] = {}
        made: list[tuple[Finding, Change]] = []
        for finding, change in proposed:
            if reason := self._held(finding, change):
                held.setdefault(reason, []).append(finding.rule)
            else:
                made.append((finding, change))
        for reason, rules in held.items():
            yield _left(image, target, rules, reason)
        if made:
            yield _step(image, target, made, projects)

    def _held(self, finding: Finding, change: Change) -> str:
        """Why a change is not planned: a property is not taken away, since what was meant by it
        would be gone."""
        if change.new is None:
            return finding.fix
        return "" if change.safe or self._options.unsafe else UNSAFE.format(change.reason)


def _step(
    image: Image, target: str, made: Iterable[tuple[Finding, Change]],
    projects: frozenset[str] | None,
) -> Step:  # fmt: skip
    changes, rules = _by_property(made)
    part = _part(image, changes)
    unsafe = [change.reason for change in changes if not change.safe]
    return Step(
        id="",
        platform="openstack",
        target=target,
        nic=NicRef(image.name, image.id),
        owner="nova",
        to="virtio",
        rules=rules,
        changes=changes,
        readiness=_readiness(image, safe=not unsafe),
        safe=not unsafe,
        reason="; ".join(dict.fromkeys(unsafe or [change.reason for change in changes])),
        running=False,
        modes=ANY_MODE,
        digest=kept_digest("image", image.id, part.old),
        diff=diff(image.name or image.id or "", part.old, part.properties),
        blocked=tuple(_foreign(image, target, projects)),
        notes=tuple(_notes(image)),
        cloud=part,
    )


def _by_property(
    made: Iterable[tuple[Finding, Change]],
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The first change of each property, and the rules that ask for any."""
    by_field: dict[str, Change] = {}
    rules: dict[str, None] = {}
    for finding, change in made:
        by_field.setdefault(change.field, change)
        rules[finding.rule] = None
    return tuple(by_field.values()), tuple(rules)


def _part(image: Image, changes: Iterable[Change]) -> CloudPart:
    new = {change.field: change.new for change in changes}
    old = {name: image.known(name) for name in new}
    return CloudPart("image", new, old, project=image.owner)


def _foreign(image: Image, target: str, projects: frozenset[str] | None) -> Iterator[str]:
    if projects is not None and image.owner not in projects:
        yield _OTHERS.format(owner=image.owner or "unknown", openstack=client(target))


def _notes(image: Image) -> Iterator[str]:
    yield _NEW
    if image.servers:
        many = image.servers > 1
        yield _MADE.format(
            servers=f"{image.servers:,} servers" if many else "The one server",
            keep="keep" if many else "keeps",
            them="them" if many else "it",
        )


def _readiness(image: Image, *, safe: bool) -> str:
    """Whether what is in the image drives virtio: a rule that calls virtio safe for it knows."""
    if image.windows:
        return "needs-driver"
    return "ready" if safe else "unknown"


def _left(image: Image, target: str, rules: Iterable[str], reason: str) -> Left:
    ref = NicRef(image.name, image.id)
    return Left(ref, target, tuple(dict.fromkeys(rules)), reason, "image", image.owner)
