"""The steps of a plan as text: one step, and equal steps once, with their number and guests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from vnicaudit.base.wording import count, disambiguated, shared_folder
from vnicaudit.model.finding import Change, name_of
from vnicaudit.model.names import NAMELESS
from vnicaudit.model.plan import (
    CloudUnit,
    ClusterKind,
    ClusterUnit,
    FileUnit,
    FlavorUnit,
    Naming,
    ServerUnit,
    SettingUnit,
    Snippet,
    Step,
)
from vnicaudit.model.ranking import PlanHistory, StepHistory, UnreadHost
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.grouped import files_of_a_host
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import hidden, safe
from vnicaudit.reports.unified_diff import DIFF_STYLES, tabbed
from vnicaudit.reports.wording import name_and_id, part_label
from vnicaudit.reports.writers import Options
from vnicaudit.text.secrets import STARS


def change_text(change: Change) -> str:
    """``1 → 4``, ``not set → virtio``."""
    old = "not set" if change.old is None else change.old
    return f"{old} → {'removed' if change.new is None else change.new}"


def field_and_change(change: Change, most: int | None = None) -> str:
    """``queues 1 → 4``; of several settings ``irq of eth0 39, 40: 0 → 1, 2``. ``most``: of each
    only so many are shown."""
    fields, old, new = ((text or "").split(" ") for text in (change.field, change.old, change.new))
    if len(fields) == 1 or not len(fields) == len(old) == len(new):
        return f"{change.field} {change_text(change)}"
    groups = {field.rpartition(":")[0] for field in fields}
    kind, colon, device = groups.pop().partition(":") if len(groups) == 1 else ("", "", "")
    what = f"{kind} of {device} " if device else f"{kind} " if colon else ""
    if colon:
        fields = [field.rpartition(":")[2] for field in fields]
    return f"{what}{_some(fields, most)}: {_values(old, most)} → {_values(new, most)}"


def _values(values: list[str], most: int | None) -> str:
    """Values of several settings; one if all are equal."""
    said = [value or "none" for value in values]
    return _some(said[:1] if len(set(said)) == 1 else said, most)


def _some(words: list[str], most: int | None) -> str:
    return ", ".join(words if most is None else [*words[:most], *["…"] * (len(words) > most)])


# One step: the change, the NIC, how it is made, and its effect on the guest.


_BODY = "      "
_HANG = "        "
CLUSTER_OBJECTS: dict[ClusterKind, str] = {
    "kube-vm": "virtual machine", "kube-preference": "preference", "kube-nad": "network",
    "kube-config": "KubeVirt object",
}  # fmt: skip
"""Kind of a unit of a cluster -> the words for its object."""
STYLES = {"safe": "good", "unsafe": "medium", "blocked": "bad"}


def state_of(step: Step) -> str:
    """``blocked``, else ``safe`` or ``unsafe``. A loss that was not accepted blocks a step."""
    if step.blocked or any(not loss.accepted for loss in step.losses):
        return "blocked"
    return _safety(step.safe)


OWNER_DOES = "for the owner to do"


def review_state(step: Step) -> str:
    """The state of a step; a step that its owner has to make is told from them."""
    return OWNER_DOES if step.procedure else state_of(step)


def about_label(step: Step) -> str:
    """The NICs of the step; for an image or a flavor, its kind."""
    unit = step.unit
    if isinstance(unit, SettingUnit):
        return "settings"
    if isinstance(unit, ClusterUnit):
        return CLUSTER_OBJECTS[unit.kind]
    if not isinstance(unit, CloudUnit) or step.about.index is not None:
        return part_label(step.about)
    if isinstance(unit, FlavorUnit) and unit.new_name:
        return f"new flavor {unit.new_name}"
    if isinstance(unit, ServerUnit) and unit.macs:
        return f"NIC{'s' * (len(unit.macs) != 1)} {' '.join(unit.macs)}"
    return unit.kind


class StepText:
    """Renders steps for a terminal. Text to be copied (the diff, commands, snippets) is not
    wrapped."""

    def __init__(self, options: Options) -> None:
        self._verbose = options.verbose
        self._pen = Pen(options)

    def lines(self, step: Step) -> Iterator[str]:
        """The whole step, in pieces that end with a line break."""
        yield self._head(step)
        each = self._verbose or _reasons_differ(step.changes)
        for change in step.changes:
            yield self._labelled("change", _change_words(change, explained=each))
        yield from self._safety(step)
        yield from self._modes(step)
        yield from self._guest(step)
        for loss in step.losses:
            detail = f"{loss.function}: {loss.detail}" if loss.detail else loss.function
            end = "accepted" if loss.accepted else "blocks the step unless it is accepted"
            style = "quiet" if loss.accepted else "bad"
            yield self._labelled("loses", f"{detail} ({end})", style)
        for reason in step.blocked:
            yield self._labelled("blocked", reason.text, "bad")
        yield from self._procedure(step)
        for note in step.notes:
            yield self._labelled("note", note)
        yield from self._diff(step.diff)
        yield from self._snippets(step.guest.snippets)
        if self._verbose:
            yield from self._identity(step)

    def _identity(self, step: Step) -> Iterator[str]:
        if isinstance(step.unit, FileUnit) and step.unit.place is not None:
            yield self._labelled("place", step.unit.place)
        yield self._labelled("digest", step.digest)

    def _head(self, step: Step) -> str:
        state = state_of(step)
        to = "" if isinstance(step.unit, SettingUnit | ClusterUnit) else f"to {step.to}"
        words = (step.id, about_label(step), to, ", ".join(step.rules))
        return self._pen.words(Part(state, style=STYLES[state]), *words, indent=4)

    def _labelled(self, label: str, text: str, style: str = "quiet") -> str:
        return self._pen.labelled(label, text, style, len(_BODY))

    def _safety(self, step: Step) -> Iterator[str]:
        """Why the step is safe or unsafe, without reasons already shown after each change."""
        held = step.safe and state_of(step) == "blocked" and not step.procedure
        told = _reasons_differ(step.changes)
        reason = _further_reason(step) if told else step.reason
        if reason or held or (step.changes and not told):
            label = f"{'would be ' if held else ''}{_safety(step.safe)}"
            yield self._labelled(label, reason, STYLES["blocked" if held else _safety(step.safe)])

    def _modes(self, step: Step) -> Iterator[str]:
        possible = [option for option in step.modes if option.possible]
        if step.modes and not step.procedure:
            names = ", ".join(option.mode for option in possible if not option.reason)
            # all modes are the same for a guest that is off
            off = f"{possible[0].mode} ({possible[0].reason})" if possible else "none"
            yield self._labelled("mode", names or off)
        for option in step.modes:
            if not (option.possible or step.procedure or isinstance(step.unit, FileUnit)):
                yield self._labelled(f"not {option.mode}", option.reason)

    def _guest(self, step: Step) -> Iterator[str]:
        view = step.guest
        seen = [
            *_before_after("id", view.id_before, view.id_after),
            *_before_after("slot", view.slot_before, view.slot_after),
        ]
        if seen:
            yield self._labelled("guest sees", ", ".join(seen))
        name = _naming_words(view.name)
        if name:
            yield self._labelled("name", name, "medium" if view.name.changes else "quiet")
        if view.drivers:
            yield self._labelled("needs in the guest", ", ".join(view.drivers))
        for note in view.notes:
            yield self._labelled("guest", note)

    def _procedure(self, step: Step) -> Iterator[str]:
        if step.procedure and isinstance(step.unit, CloudUnit):
            yield self._labelled("procedure", "this is done by hand, in this order")
        elif step.procedure and isinstance(step.unit, SettingUnit):
            yield self._labelled("procedure", "give it to the owner of the setting")
        elif step.procedure:
            order = "do this there, in this order"
            yield self._labelled("procedure", f"{name_of(step.owner)} owns the definition: {order}")
        for number, part in enumerate(step.procedure, 1):
            yield f"{_HANG}{number}. {safe(part)}\n"
        for file in step.files:
            yield self._labelled("file", file.name)
            yield from (f"{_HANG}{tabbed(line)}".rstrip() + "\n" for line in _split(file.text))

    def _diff(self, diff: str) -> Iterator[str]:
        inside = False
        for line in _split(diff):
            inside = inside or line.startswith("@@")
            style = DIFF_STYLES.get(line[:1], "") if inside else "name"
            yield f"{_BODY}{self._pen.paint(style, tabbed(line))}\n"
        if STARS in diff:
            yield f"{_BODY}(secrets are shown as {STARS}: apply makes the change, patch cannot)\n"

    def _snippets(self, snippets: tuple[Snippet, ...]) -> Iterator[str]:
        if snippets and not self._verbose:
            kinds = ", ".join(snippet.kind for snippet in snippets)
            what = "a snippet that pins" if len(snippets) == 1 else "snippets that pin"
            yield self._labelled(f"{what} the name ({kinds})", "--verbose")
            return
        for snippet in snippets:
            yield self._labelled("pins the name", f"{snippet.kind}, {snippet.path}", "fix")
            for line in _split(snippet.text):
                yield f"{_HANG}{tabbed(line)}".rstrip() + "\n"


def _reasons_differ(changes: tuple[Change, ...]) -> bool:
    """True if the changes of a step have different reasons, so that one reason is not enough."""
    return len({(change.safe, change.reason) for change in changes}) > 1


def _change_words(change: Change, *, explained: bool) -> str:
    """``queues 1 → 4``. An unsafe change is always marked; ``explained``: a safe one too."""
    text = field_and_change(change)
    if change.safe and not explained:
        return text
    why = f"{_safety(change.safe)}: {change.reason}" if change.reason else ""
    return f"{text} ({why or _safety(change.safe)})"


def _further_reason(step: Step) -> str:
    """The step's reason without those of its changes. If it does not start with them (a plan may be
    edited), the whole reason."""
    return "" if step.reason == step.reason_of_changes else step.risk or step.reason


def _safety(safe_: bool) -> str:
    return "safe" if safe_ else "unsafe"


def _before_after(what: str, before: str | None, after: str | None) -> Iterator[str]:
    if before is not None and before == after:
        yield f"{what} {before} as before"
    elif before is not None or after is not None:
        yield f"{what} {before or 'none or unknown'} → {after or 'none or unknown'}"


def _naming_words(naming: Naming) -> str:
    if naming.changes is False:
        text = f"{naming.before or 'the present one'} stays"
    elif naming.before is None and naming.after is None:
        return f"unknown: {naming.reason}" if naming.reason else ""
    else:
        text = f"{naming.before or 'unknown'} → {naming.after or 'unknown'}"
    return f"{text} ({naming.reason})" if naming.reason else text


def _split(text: str) -> list[str]:
    """Lines without their line breaks; only LF ends a line."""
    return text.removesuffix("\n").split("\n") if text else []


# The guest of a step.


def guest_key(step: Step) -> tuple[str, ...]:
    """Key that identifies a guest: two files may contain guests with the same name."""
    file, place = _file_and_place(step)
    return step.target, file, place, step.about.id or "", step.about.name or ""


def _file_and_place(step: Step) -> tuple[str, str]:
    """The file of a definition, and where in the file it starts; empty: it is not in a file."""
    unit = step.unit
    if not isinstance(unit, FileUnit):
        return "", ""
    return unit.path, unit.definition if unit.line is None else f"line {unit.line}"


def guest_kind(step: Step) -> str:
    unit = step.unit
    if isinstance(unit, SettingUnit):
        return step.about.kind
    if isinstance(unit, ClusterUnit) and unit.kind != "kube-vm":
        return CLUSTER_OBJECTS[unit.kind]
    return unit.kind if isinstance(unit, CloudUnit) and unit.kind != "server" else "guest"


def guest_names(steps: Iterable[Step]) -> list[str]:
    """The name of each step's guest, with its file, target or id if the name is not unique. Common
    parent folders of files are left out."""
    steps = tuple(steps)
    shared = shared_folder(step.unit.path for step in steps if isinstance(step.unit, FileUnit))
    return disambiguated(_name_and_place(step, shared) for step in steps)


def _name_and_place(step: Step, shared: int) -> tuple[str, ...]:
    """``shared``: number of characters that all file paths have in common."""
    name = step.about.name or step.about.id or NAMELESS
    kind = guest_kind(step)
    shown = name if kind == "guest" else f"{kind} {name}"
    file, place = _file_and_place(step)
    return shown, file[shared:], step.target, step.about.id or "", place


# Makes text about one guest independent of the guest.


_LONG = 8
"""Minimum length of an id: a shorter one may be part of another word."""


def without_heads(diff: str) -> str:
    """A diff without the lines that name the file."""
    lines = diff.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("--- ", "+++ ")))


def of_any(text: str, step: Step) -> str:
    """Part of a definition or guest configuration, with the guest's UUID and MAC address replaced
    by words."""
    for value, word in ((step.about.id, "UUID"), (step.about.mac, "MAC")):
        if value and len(value) >= _LONG:
            text = text.replace(value, word)
    return text


# The part of a plan that comes from the history: age of findings, measured gains, and open findings
# on hosts that could not be read.


_SHOWN_HOSTS = 20


def history_line(steps: Iterable[Step], history: PlanHistory, options: Options) -> Iterator[str]:
    """One line about steps with the same change; nothing if nothing is known about them."""
    facts = [history.steps[step.id] for step in steps if step.id in history.steps]
    if words := "; ".join(_words(facts)):
        yield Pen(options).say(f"history: {words}", 4)


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
    pen = Pen(options)
    yield pen.say(_unread_title(history.unread))
    ordered = sorted(
        history.unread, key=lambda one: (-one.last.findings if one.last else 0, one.name)
    )
    shown = ordered if options.verbose else ordered[:_SHOWN_HOSTS]
    yield from (pen.say(f"{one.name}: {_last_words(one)}", 2) for one in shown)
    if len(shown) < len(ordered):
        yield pen.say(hidden(len(ordered) - len(shown)), 2)
    yield "\n"


def _unread_title(unread: Sequence[UnreadHost]) -> str:
    hosts, read = count(len(unread), "host"), [one.last for one in unread if one.last is not None]
    if not read:
        return f"{hosts} not read, now or by any audit"
    findings = count(sum(last.findings for last in read), "finding")
    whose = "its" if len(unread) == 1 else "their"
    return f"{hosts} not read; {findings} open there at {whose} last audit"


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

_NAMES = 3
_MANY_NAMES = 20
_STATES = ("blocked", "unsafe", OWNER_DOES, "safe")
"""Order of states for review: exceptions first."""
_NOT_TOLD = "not told"


def grouped_steps(steps: Iterable[Step], options: Options, history: PlanHistory) -> Iterator[str]:
    """Each change once: its first step as an example, the number of steps, and their guests. By
    ``change``, the exceptions come first, and within a state the rarest change, because it is the
    least expected; by image, flavor, project, host or rules, the largest group comes first, and its
    most frequent change."""
    pen, text = Pen(options), StepText(options)
    for title, changes in _groups(steps, options.group_by):
        about = f"{count(sum(map(len, changes)), 'step')}, {count(len(changes), 'kind')}"
        yield pen.titled(title, about)
        for equal in changes:
            yield from text.lines(equal[0])
            yield pen.say(_extent(equal, options), 4)
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
    guests = count(len({guest_key(step) for step in equal}), guest_kind(equal[0]))
    places = count(len({step.target for step in equal}), "target")
    return f"{count(len(equal), 'step')} like this, on {guests} of {places}: {shown}{more}"


def _change_of(step: Step) -> tuple[object, ...]:
    """Everything that decides about a step, without what is specific to its guest."""
    guest = step.guest
    lines = without_heads(step.diff).splitlines()
    texts = (
        *(one.text for one in step.blocked), *step.procedure, *step.notes, *guest.notes,
        *(one.text for one in step.files),
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
        return review_state(step)
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
