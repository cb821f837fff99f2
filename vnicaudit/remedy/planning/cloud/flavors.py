"""A flavor whose extra spec contradicts the images it is booted with -> a new flavor without it.

A flavor is not changed in place: servers have a copy of it from the day they were made or resized,
and whoever made the flavor may rely on it. A server gets another one by a resize.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change, NicRef
from vnicaudit.model.openstack import Flavor, as_flag
from vnicaudit.model.plan import CloudPart, Left, Step
from vnicaudit.model.server import FLAVOR_WORDS, MULTIQUEUE, MULTIQUEUE_VCPUS
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud.images import ANY_MODE
from vnicaudit.remedy.planning.cloud.judged import found_in
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.text.cloud_names import client
from vnicaudit.text.shell import word

_WHY = "without the extra spec the image decides, and nothing contradicts it; the old flavor stays"
_ADMIN = "flavors are made by an operator of the cloud: ask for one like this"
_RESIZE = (
    "Servers keep the flavor they have. One that is to have the new one is resized, which takes it "
    "down and may move it to another host: {openstack} server resize --flavor {name} SERVER, "
    "then {openstack} server resize confirm SERVER"
)
_NEW = "New servers are given it by name: say so to those who make them."


class FlavorPlanner:
    """Plans the flavors of one cloud."""

    def __init__(self, work: AuditWork) -> None:
        self._work = work

    def plan(
        self, flavors: Iterable[Flavor], target: str, options: PlanOptions, *, operator: bool,
        known: Iterable[str] = (),
    ) -> Iterator[Step | Left]:  # fmt: skip
        """The steps of all flavors of the cloud: a new name must be none of theirs, nor one of
        ``known``, which others have there."""
        flavors = tuple(flavors)
        taken = {*known, *(flavor.name for flavor in flavors)}
        for flavor in flavors:
            if options.takes(flavor.name, flavor.id):
                yield from self._one(flavor, target, taken, operator=operator)

    def _one(
        self, flavor: Flavor, target: str, taken: set[str], *, operator: bool
    ) -> Iterator[Step | Left]:
        try:
            findings = found_in(self._work.description(flavor, target))
        except RefusedError as error:
            yield _left(flavor, target, (), str(error))
            return
        rules = tuple(dict.fromkeys(one.rule for one in findings if one.severity == "error"))
        names = tuple(_contradicting(flavor))
        if rules and names:
            new_name = _free(flavor.name, taken)
            taken.add(new_name)
            yield _step(flavor, target, rules, names, new_name, operator=operator)
        words: dict[str, list[str]] = {}
        for finding in findings:
            if finding.change is not None:
                words.setdefault(finding.fix, []).append(finding.rule)
        for fix, found in words.items():
            yield _left(flavor, target, found, fix)


def _contradicting(flavor: Flavor) -> Iterator[str]:
    """The extra specs of which an image it is booted with says the opposite."""
    for name, spec in FLAVOR_WORDS.items():
        said = flavor.known(spec)
        if said is None or (name == MULTIQUEUE and (flavor.vcpus or 0) < MULTIQUEUE_VCPUS):
            continue
        others = (image.known(name) for image in flavor.images)
        if any(other is not None and as_flag(other) != as_flag(said) for other in others):
            yield spec


def _step(
    flavor: Flavor, target: str, rules: tuple[str, ...], names: tuple[str, ...], new_name: str,
    *, operator: bool,
) -> Step:  # fmt: skip
    old = {name: flavor.known(name) for name in names}
    new: dict[str, str | None] = dict.fromkeys(names)
    return Step(
        id="",
        platform="openstack",
        target=target,
        nic=NicRef(flavor.name, flavor.id),
        owner="nova",
        to="virtio",
        rules=rules,
        changes=tuple(Change(name, old[name], None, safe=True, reason=_WHY) for name in names),
        readiness="unknown",
        safe=True,
        reason=_WHY,
        running=False,
        modes=ANY_MODE,
        digest=kept_digest("flavor", flavor.id, old),
        diff=diff(flavor.name or flavor.id or "", old, new),
        blocked=() if operator else (_ADMIN,),
        notes=(_RESIZE.format(openstack=client(target), name=word(new_name)), _NEW),
        cloud=CloudPart("flavor", new, old, new_name=new_name),
    )


def _free(name: str, taken: set[str]) -> str:
    """``m1.large-vnic``, or with a number where there is one called so."""
    found, number = f"{name}-vnic", 2
    while found in taken:
        found, number = f"{name}-vnic{number}", number + 1
    return found


def _left(flavor: Flavor, target: str, rules: Iterable[str], reason: str) -> Left:
    ref = NicRef(flavor.name, flavor.id)
    return Left(ref, target, tuple(dict.fromkeys(rules)), reason, "flavor")
