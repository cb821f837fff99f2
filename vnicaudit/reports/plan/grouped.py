"""Steps of a plan that say the same, put together: what is said of them once, how many there are,
and on which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from msgspec.structs import replace

from vnicaudit.model.finding import NicRef
from vnicaudit.model.plan import Step
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.plan.projects import called
from vnicaudit.reports.plan.step_text import StepText
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import count
from vnicaudit.reports.wrap import Piece, titled, wrap
from vnicaudit.reports.writer import Options

PlanGroupBy = Literal["image", "flavor", "project", "host", "rule"]
PLAN_GROUP_BY: tuple[PlanGroupBy, ...] = get_args(PlanGroupBy)

_LONG = 8
"""Characters of an id: a shorter one may be part of another word."""
_NAMES = 3
_NOT_TOLD = "not told"
_MANY_NAMES = 20


class _Equal:
    """How many steps say this, and the first of them by number and name."""

    def __init__(self) -> None:
        self.count = 0
        self.names: list[str] = []


def grouped(steps: Iterable[Step], options: Options, paint: Paint) -> Iterator[str]:
    """All steps by image, flavor, project, host or rules; the group of most steps first."""
    text = StepText(options, paint)
    names = _MANY_NAMES if options.verbose else _NAMES
    found: dict[str, dict[str, _Equal]] = {}
    for step in steps:
        equal = found.setdefault(_group(step, options.group_by), {})
        one = equal.setdefault(_common(step, text), _Equal())
        one.count += 1
        if len(one.names) < names:
            one.names.append(f"{step.nic.domain or step.nic.uuid or 'no name'} (step {step.id})")
    for group, equal in sorted(found.items(), key=lambda item: (-_total(item[1]), item[0])):
        name = safe(group)
        about = f"{count(_total(equal), 'step')}, {count(len(equal), 'kind')}"
        yield titled(Piece(name, paint("name", name)), about, options.width)
        for words, one in sorted(equal.items(), key=lambda item: -item[1].count):
            yield words
            more = one.count - len(one.names)
            on = ", ".join(one.names) + (f" and {more:,} more" if more else "")
            said = f"{count(one.count, 'step')} like this, on {on}"
            yield wrap(safe(said), options.width, "    ", "      ")
            yield "\n"


def _total(equal: dict[str, _Equal]) -> int:
    return sum(one.count for one in equal.values())


def _group(step: Step, by: str) -> str:
    part = step.cloud
    if by == "rule":
        return f"rules {', '.join(step.rules)}" if step.rules else "no rule: asked for"
    if part is None:
        return f"host {step.target}" if by == "host" else "no server of a cloud"
    if by == "project":
        return f"project {called(part.project, part.project_name) or _NOT_TOLD}"
    if part.object == by:  # the step on the image stands with those on its servers
        return f"{by} {_own_name(step)}"
    if part.object != "server":
        return f"{part.object}s"
    found = {
        "host": part.host,
        "image": called(part.image, part.image_name) or part.image_name,
        "flavor": part.flavor,
    }
    return f"{by} {found.get(by) or _NOT_TOLD}"


def _own_name(step: Step) -> str:
    """Of an image as its servers name it; a flavor has one name."""
    if step.cloud is not None and step.cloud.object == "image":
        return called(step.nic.uuid or "", step.nic.domain or "") or step.nic.domain or _NOT_TOLD
    return step.nic.domain or _NOT_TOLD


def _common(step: Step, text: StepText) -> str:
    """What is said of a step, without which one it is and whose NIC."""
    heads = ("--- ", "+++ ")
    diff = "".join(
        line for line in step.diff.splitlines(keepends=True) if not line.startswith(heads)
    )
    macs = {step.nic.mac, *(() if step.cloud is None else step.cloud.macs)}
    alike = replace(
        step,
        id=f"{step.platform if step.cloud is None else step.cloud.object}",
        nic=NicRef(),
        diff=diff,
        digest="",
        place=None,
        cloud=None if step.cloud is None else replace(step.cloud, macs=()),
    )
    words = "".join(text.lines(alike))
    for value, word in ((step.nic.uuid, "UUID"), *((mac, "MAC") for mac in macs)):
        if value and len(value) >= _LONG:
            words = words.replace(value, word)
    return words
