"""A flavor with an extra spec that contradicts the images it is booted with -> a new flavor without
it.

A flavor is not changed in place: servers have a copy of it from the day they were created or
resized, and its creator may rely on it. A server gets another one by a resize.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from vnicaudit.base.shell import word
from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import Flavor, as_flag
from vnicaudit.model.plan import FlavorUnit, StepWords, UnitStep
from vnicaudit.model.reasons import Blocked, Reason
from vnicaudit.model.refs import FlavorRef
from vnicaudit.model.server import FLAVOR_WORDS, MULTIQUEUE, MULTIQUEUE_VCPUS
from vnicaudit.remedy.planning.cloud.images import judged_description
from vnicaudit.remedy.planning.cloud.unit_step import unit_step
from vnicaudit.remedy.planning.judged_item import JudgedItem, Judges
from vnicaudit.remedy.planning.subject import PlanSubject, ProposedChanges
from vnicaudit.text.cloud_names import client

_WHY = "without the extra spec the image decides, and nothing contradicts it; the old flavor stays"
_ADMIN = Blocked(
    "operator-only", "only an operator of the cloud can create flavors: ask for one like this"
)
_RESIZE = (
    "Servers keep their flavor. To move a server to the new one, resize it, which takes it down "
    "and may move it to another host: {openstack} server resize --flavor {name} SERVER, then "
    "{openstack} server resize confirm SERVER"
)
_NEW = "New servers get it by name: tell those who create them."


class PlannedFlavor(PlanSubject[FlavorUnit]):
    """One flavor. Changes that findings propose for it are left to its creator.

    ``taken``: the names of all flavors of its cloud, existing and planned; the name of its own new
    flavor is added. ``operator``: true if this user may create one.
    """

    def __init__(
        self, flavor: Flavor, target: str, judges: Judges, taken: set[str], *, operator: bool
    ) -> None:
        self._flavor = flavor
        self.target = target
        self.about = FlavorRef(flavor.name, flavor.id)
        self._judges = judges
        self._taken = taken
        self._operator = operator

    @cached_property
    def _judged_flavor(self) -> JudgedItem[Flavor]:
        return judged_description(self._flavor, self.target, self._judges)

    def requested_changes(self) -> ProposedChanges:
        """The removal of extra specs with which a server of this flavor would not start."""
        found = self._judged_flavor.findings
        rules = tuple(dict.fromkeys(one.rule for one in found if one.severity == "error"))
        if not rules:
            return ProposedChanges()
        changes = (
            Change(name, self._flavor.certain_value(name), None, safe=True, reason=_WHY)
            for name in _contradicting(self._flavor)
        )
        return ProposedChanges(tuple(changes), rules)

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Every proposed change: the flavor itself stays as it is."""
        del proposed
        for finding in self._judged_flavor.findings:
            if finding.change is not None:
                yield Reason("owner-decides", finding.fix), finding.rule

    def step(self, proposed: ProposedChanges) -> UnitStep[FlavorUnit]:
        """A new flavor without these extra specs."""
        new_name = _free(self._flavor.name, self._taken)
        self._taken.add(new_name)
        old = {change.field: change.old for change in proposed.changes}
        words = StepWords(
            () if self._operator else (_ADMIN,),
            notes=(_RESIZE.format(openstack=client(self.target), name=word(new_name)), _NEW),
        )
        unit = FlavorUnit(dict.fromkeys(old), old, new_name=new_name)
        return unit_step(self, proposed, unit, words, readiness="unknown", safe=True, reason=_WHY)


def _contradicting(flavor: Flavor) -> Iterator[str]:
    """The extra specs that contradict an image with which the flavor is booted."""
    for name, spec in FLAVOR_WORDS.items():
        said = flavor.certain_value(spec)
        if said is None or (name == MULTIQUEUE and (flavor.vcpus or 0) < MULTIQUEUE_VCPUS):
            continue
        others = (image.certain_value(name) for image in flavor.images)
        if any(other is not None and as_flag(other) != as_flag(said) for other in others):
            yield spec


def _free(name: str, taken: set[str]) -> str:
    """``m1.large-vnic``, with a number added if that name is taken."""
    found, number = f"{name}-vnic", 2
    while found in taken:
        found, number = f"{name}-vnic{number}", number + 1
    return found
