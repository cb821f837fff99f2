"""An image of a cloud as a subject of a plan.

A property of an image applies to servers created from it from then on: Nova stores the properties
of a server when it is created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.guest_words import Readiness
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.plan import ImageUnit, StepWords, UnitStep
from vnicaudit.model.reasons import Blocked, Reason
from vnicaudit.model.refs import ImageRef
from vnicaudit.remedy.planning.cloud.unit_step import unit_step
from vnicaudit.remedy.planning.judged_item import JudgedItem, Judges
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.subject import PlanSubject, ProposedChanges, safety, unsafe
from vnicaudit.text.cloud_names import client

Object = TypeVar("Object", Image, Flavor)

_OTHERS = (
    "the image belongs to project {owner}: ask its owner, or make your own image ({openstack} "
    "server image create, {openstack} image create) and set it there"
)
_NEW = "It applies to servers created from it from now on."
_MADE = (
    "{servers} created from it {keep} what Nova has kept for {them}: changes of {them} are "
    "planned separately."
)


class PlannedImage(PlanSubject[ImageUnit]):
    """One image. ``projects``: the projects whose images may be changed; None: any."""

    def __init__(
        self,
        image: Image,
        target: str,
        judges: Judges,
        options: PlanOptions,
        projects: frozenset[str] | None,
    ) -> None:
        self._image = image
        self.target = target
        self.about = ImageRef(image.name, image.id)
        self.project = image.owner
        self._judges = judges
        self._options = options
        self._projects = projects

    @cached_property
    def _judged_image(self) -> JudgedItem[Image]:
        return judged_description(self._image, self.target, self._judges)

    def findings_with(self, changes: Sequence[Change]) -> Iterable[Finding]:
        """The findings on the image as it is: changing one property causes no finding on
        another."""
        del changes
        return self._judged_image.findings

    def planned_change(self, finding: Finding) -> Change | None:
        """The finding's change; None if it is held back."""
        return None if self._reason_to_hold(finding) else finding.change

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Changes that may do harm, or that would remove a property."""
        del proposed
        for finding in self._judged_image.findings:
            if reason := self._reason_to_hold(finding):
                yield reason, finding.rule

    def step(self, proposed: ProposedChanges) -> UnitStep[ImageUnit]:
        """The step that sets the proposed properties of the image."""
        image = self._image
        new = {change.field: change.new for change in proposed.changes}
        old = {name: image.certain_value(name) for name in new}
        safe, reason = safety(proposed.changes)
        words = StepWords(
            tuple(_foreign(image, self.target, self._projects)), notes=tuple(_notes(image))
        )
        unit = ImageUnit(new, old, project=image.owner)
        readiness = _readiness(image, safe=safe)
        return unit_step(self, proposed, unit, words, readiness=readiness, safe=safe, reason=reason)

    def _reason_to_hold(self, finding: Finding) -> Reason | None:
        """Why a finding's change is not planned: a property is never removed, since its purpose
        would be lost. None: it is planned, or there is none."""
        change = finding.change
        if change is None:
            return None
        if change.new is None:
            return Reason("owner-decides", finding.fix) if finding.fix else None
        return None if change.safe or self._options.unsafe else unsafe(change)


def judged_description(item: Object, target: str, judges: Judges) -> JudgedItem[Object]:
    """A judged image or flavor. Raises RefusedError if a rule crashes."""
    return JudgedItem(item, judges, lambda work, one: work.description(one, target))


def _foreign(image: Image, target: str, projects: frozenset[str] | None) -> Iterator[Blocked]:
    if projects is not None and image.owner not in projects:
        text = _OTHERS.format(owner=image.owner or "unknown", openstack=client(target))
        yield Blocked("other-project", text)


def _notes(image: Image) -> Iterator[str]:
    yield _NEW
    if image.servers:
        many = image.servers > 1
        yield _MADE.format(
            servers=f"{image.servers:,} servers" if many else "The one server",
            keep="keep" if many else "keeps",
            them="them" if many else "it",
        )


def _readiness(image: Image, *, safe: bool) -> Readiness:
    """The readiness of the image's guest for virtio: it is ready if a rule says that virtio is safe
    for it."""
    if image.windows:
        return "needs-driver"
    return "ready" if safe else "unknown"
