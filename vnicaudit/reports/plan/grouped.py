"""Equal steps of a plan, grouped: their text once, their number, and their guests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from vnicaudit.base.wording import count
from vnicaudit.model.plan import CloudUnit, FileUnit, ServerUnit, Step
from vnicaudit.model.ranking import PlanHistory, StepHistory, UnreadHost
from vnicaudit.reports.findings.grouped import files_of_a_host
from vnicaudit.reports.plan.overview import guest_key, guest_names, of_any, without_heads
from vnicaudit.reports.plan.step_text import StepText, state_of
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, hidden, safe, title_line, wrap
from vnicaudit.reports.wording import name_and_id

# The part of a plan that comes from the history: age of findings, measured gains, and open findings
# on hosts that could not be read.


_SHOWN_HOSTS = 20


def history_line(steps: Iterable[Step], history: PlanHistory, options: Options) -> Iterator[str]:
    """One line about steps with the same change; nothing if nothing is known about them."""
    facts = [history.steps[step.id] for step in steps if step.id in history.steps]
    if words := "; ".join(_words(facts)):
        yield wrap(f"history: {words}", options.width, "    ", "      ")


def _words(facts: Sequence[StepHistory]) -> Iterator[str]:
    findings, new = sum(one.findings for one in facts), sum(one.new for one in facts)
    known = sum(one.known for one in facts)
    oldest = min((one.first_seen for one in facts if one.first_seen), default="")
    if oldest:
        yield f"{_oldest_of(known, findings)}first seen {_day(oldest)}"
    if new:
        of_all = "" if oldest else f" of {count(findings, 'finding')}"
        yield f"{new:,}{of_all} not in the last audit"
    if gain := next((one.gain for one in facts if one.gain is not None), None):
        from vnicaudit.fleet.ranking import gain_words

        yield gain_words(gain)


def _oldest_of(known: int, findings: int) -> str:
    if findings == 1:
        return ""
    if known == 1:
        return "1 known finding, "
    return f"oldest of {known:,} {'findings' if known == findings else 'known findings'} "


def unread_lines(history: PlanHistory, options: Options) -> Iterator[str]:
    """The hosts that could not be read, those with most findings first, with the findings open
    after their last audit."""
    if not history.unread:
        return
    yield wrap(_unread_title(history.unread), options.width, "", "  ")
    ordered = sorted(history.unread, key=_most_findings_first)
    shown = ordered if options.verbose else ordered[:_SHOWN_HOSTS]
    for one in shown:
        yield wrap(f"{safe(one.name)}: {_last_words(one)}", options.width, "  ", "    ")
    if len(shown) < len(ordered):
        yield wrap(hidden(len(ordered) - len(shown)), options.width, "  ", "    ")
    yield "\n"


def _unread_title(unread: Sequence[UnreadHost]) -> str:
    hosts, read = count(len(unread), "host"), [one.last for one in unread if one.last is not None]
    if not read:
        return f"{hosts} not read, now or by any audit"
    findings = count(sum(last.findings for last in read), "finding")
    whose = "its" if len(unread) == 1 else "their"
    return f"{hosts} not read; {findings} open there at {whose} last audit"


def coverage_line(history: PlanHistory, options: Options) -> Iterator[str]:
    """The number of open findings on hosts that were read, for how many of them the plan has a
    step, and the hosts that cannot be compared."""
    for text in (*_not_audited(history), *_partly_audited(history), *_covered(history)):
        yield wrap(text, options.width, "", "  ")


def _not_audited(history: PlanHistory) -> Iterator[str]:
    if missing := history.read - history.audited:
        have = "has" if missing == 1 else "have"
        yield f"{count(missing, 'host')} read now {have} no audit in the history"


def _partly_audited(history: PlanHistory) -> Iterator[str]:
    if history.partly:
        yield (
            f"On {count(history.partly, 'host')} read now, the last audit did not check all that "
            "is planned there"
        )


def _covered(history: PlanHistory) -> Iterator[str]:
    if history.open_findings:
        findings = count(history.open_findings, "finding")
        planned = f"{history.planned:,}" if history.planned else "none"
        other = "other " if history.audited < history.read else ""
        whose, hosts = ("its", "host") if history.audited == 1 else ("their", "hosts")
        yield (
            f"At {whose} last audit, the {other}{hosts} read now had {findings} open; the plan has "
            f"a step for {planned} of them"
        )


def _most_findings_first(one: UnreadHost) -> tuple[int, str]:
    return (0 if one.last is None else -one.last.findings), one.name


def _last_words(one: UnreadHost) -> str:
    last = one.last
    if last is None:
        return "no audit has read it"
    size = f"{count(last.domains, 'guest')}, {count(last.nics, 'NIC')}"
    return f"last read {_day(last.read_at)}: {size}, {count(last.findings, 'finding')} open"


def _day(time: str) -> str:
    """The date of a time in RFC 3339."""
    return time[:10]


# A large plan for review: equal steps are shown once.
#
# Steps are equal if everything that decides about them is equal: state, changes, reasons, modes,
# losses, and the lines of the definition that change. The position and name of a NIC and the
# surrounding lines differ from guest to guest, and are shown for the first one.


PlanGroupBy = Literal["change", "image", "flavor", "project", "host", "rule"]
PLAN_GROUP_BY: tuple[PlanGroupBy, ...] = get_args(PlanGroupBy)

_NAMES = 3
_MANY_NAMES = 20
_OWNER = "for the owner to do"
_STATES = ("blocked", "unsafe", _OWNER, "safe")
"""Order of states for review: exceptions first."""
_NOT_TOLD = "not told"


def grouped_steps(steps: Iterable[Step], options: Options, history: PlanHistory) -> Iterator[str]:
    """Each change once: its first step as an example, the number of steps, and their guests. By
    ``change``, the exceptions come first, and within a state the rarest change, because it is the
    least expected; by image, flavor, project, host or rules, the largest group comes first, and its
    most frequent change."""
    paint, text = Paint(color=options.color), StepText(options)
    for title, changes in _groups(steps, options.group_by):
        about = f"{count(sum(map(len, changes)), 'step')}, {count(len(changes), 'kind')}"
        yield title_line(Piece(safe(title), paint("name", safe(title))), about, options.width)
        for equal in changes:
            yield from text.lines(equal[0])
            yield wrap(safe(_extent(equal, options)), options.width, "    ", "      ")
            yield from history_line(equal, history, options)
            yield "\n"


def _groups(steps: Iterable[Step], by: str) -> list[tuple[str, list[list[Step]]]]:
    """``(title, equal steps)``, in the order in which to show them."""
    found: dict[str, dict[tuple[object, ...], list[Step]]] = {}
    for step in steps:
        found.setdefault(_group(step, by), {}).setdefault(_change_of(step), []).append(step)
    groups = [(title, list(changes.values())) for title, changes in found.items()]
    for _title, changes in groups:
        changes.sort(key=len, reverse=by != "change")
    if by == "change":
        return sorted(groups, key=lambda group: _STATES.index(group[0]))
    return sorted(groups, key=lambda group: (-sum(map(len, group[1])), group[0]))


def _extent(equal: Sequence[Step], options: Options) -> str:
    """``8,120 steps like this, on 6,000 guests of 212 hosts: web-1 (step 3), … and 8,117 more``."""
    first = equal[: _MANY_NAMES if options.verbose else _NAMES]
    shown = ", ".join(
        f"{name} (step {step.id})" for step, name in zip(first, guest_names(first), strict=True)
    )
    if len(equal) == 1:
        return f"1 step like this, on {shown} at {equal[0].target}"
    more = f" and {len(equal) - len(first):,} more" if len(equal) > len(first) else ""
    guests = count(len({guest_key(step) for step in equal}), "guest")
    places = count(len({step.target for step in equal}), "target")
    return f"{count(len(equal), 'step')} like this, on {guests} of {places}: {shown}{more}"


def _change_of(step: Step) -> tuple[object, ...]:
    """Everything that decides about a step, without what is specific to its guest."""
    guest = step.guest
    lines = without_heads(step.diff).splitlines()
    texts = (
        *(one.text for one in step.blocked), *step.procedure, *step.notes, *guest.notes,
        *(line for line in lines if line[:1] in ("+", "-")),
    )  # fmt: skip
    return (
        step.unit.kind, step.owner, step.to, step.rules, step.changes, step.safe, step.reason,
        step.risk, step.readiness, step.modes, step.losses, guest.name.changes, guest.drivers,
        of_any("\n".join(texts), step),
    )  # fmt: skip


def _group(step: Step, by: str) -> str:
    unit = step.unit
    if by == "change":
        return _OWNER if step.procedure else state_of(step)
    if by == "rule":
        return f"rules {', '.join(step.rules)}" if step.rules else "no rule: requested"
    if by == "host" and isinstance(unit, FileUnit):
        return f"host {files_of_a_host(unit.path)}"
    if not isinstance(unit, CloudUnit):
        return f"host {step.target}" if by == "host" else "no server of a cloud"
    if by == "project":
        return f"project {name_and_id(unit.project_name, unit.project) or _NOT_TOLD}"
    if unit.kind == by:  # the step on the image is listed with those on its servers
        return f"{by} {_own_name(step)}"
    if not isinstance(unit, ServerUnit):
        return f"{unit.kind}s"
    found = {
        "host": unit.host,
        "image": name_and_id(unit.image_name, unit.image),
        "flavor": unit.flavor,
    }
    return f"{by} {found.get(by) or _NOT_TOLD}"


def _own_name(step: Step) -> str:
    """Name of the step's object. For an image: name and id, as its servers refer to it. A flavor
    has only a name."""
    if step.unit.kind == "image":
        return name_and_id(step.about.name or "", step.about.id or "") or _NOT_TOLD
    return step.about.name or _NOT_TOLD
