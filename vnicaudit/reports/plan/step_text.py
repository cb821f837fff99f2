"""One step of a plan as text: what changes on which NIC, how, and what the guest will see of it."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Change
from vnicaudit.model.plan import Loss, ModeOption, Naming, Snippet, Step
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import nic_label
from vnicaudit.reports.wrap import Piece, fold, wrap
from vnicaudit.reports.writer import Options
from vnicaudit.text.secrets import STARS

_HEAD = "    "
_BODY = "      "
_HANG = "        "
_STYLES = {"safe": "good", "unsafe": "medium", "blocked": "bad"}
_DIFF_STYLES = {"-": "removed", "+": "added", "@": "hunk"}


def state_of(step: Step) -> str:
    """``blocked``, else ``safe`` or ``unsafe``. A loss that nobody accepted blocks."""
    if step.blocked or any(not loss.accepted for loss in step.losses):
        return "blocked"
    return _safety(step.safe)


def about_label(step: Step) -> str:
    """Which NICs it is about; of an image or a flavor, of what kind it is."""
    part = step.cloud
    if part is None or step.nic.index is not None:
        return nic_label(step.nic)
    if part.object != "server":
        return f"new flavor {part.new_name}" if part.new_name else part.object
    return f"NIC{'s' * (len(part.macs) != 1)} {' '.join(part.macs)}" if part.macs else "server"


class StepText:
    """Renders steps for one terminal. What is to be copied (the diff, commands, snippets) is not
    wrapped."""

    def __init__(self, options: Options, paint: Paint) -> None:
        self._width = options.width
        self._verbose = options.verbose
        self._paint = paint

    def lines(self, step: Step) -> Iterator[str]:
        """The whole step, in pieces that end with a line break."""
        yield self._head(step)
        each = self._verbose or _differ(step.changes)
        for change in step.changes:
            yield self._said("change", _changed(change, explained=each))
        yield from self._safety(step)
        yield from self._modes(step)
        yield from self._guest(step)
        for loss in step.losses:
            yield self._said("loses", _lost(loss), "quiet" if loss.accepted else "bad")
        for reason in step.blocked:
            yield self._said("blocked", reason, "bad")
        yield from self._route(step)
        for note in step.notes:
            yield self._said("note", note)
        yield from self._diff(step.diff)
        yield from self._snippets(step.guest.snippets)
        if self._verbose:
            yield from self._identity(step)

    def _identity(self, step: Step) -> Iterator[str]:
        if step.place is not None:
            yield self._said("place", step.place)
        yield self._said("digest", step.digest)

    def _head(self, step: Step) -> str:
        state = state_of(step)
        words = [step.id, about_label(step), f"to {step.to}", ", ".join(step.rules)]
        pieces = [Piece(state, self._paint(_STYLES[state], state))]
        pieces.extend(Piece(word, word) for word in map(safe, words) if word)
        return fold(pieces, self._width, _HEAD, _BODY, "  ")

    def _said(self, label: str, text: str, style: str = "quiet") -> str:
        """``label: text``, wrapped; nothing where there is nothing to say but the label."""
        line = wrap(safe(f"{label}: {text}" if text else label), self._width, _BODY, _HANG)
        return line.replace(label, self._paint(style, label), 1)

    def _safety(self, step: Step) -> Iterator[str]:
        """Why the step is safe or unsafe, without what stands behind each change already."""
        held = step.safe and state_of(step) == "blocked" and not step.route
        told = _differ(step.changes)
        reason = _further_reason(step) if told else step.reason
        if reason or held or (step.changes and not told):
            label = f"{'would be ' if held else ''}{_safety(step.safe)}"
            yield self._said(label, reason, _STYLES["blocked" if held else _safety(step.safe)])

    def _modes(self, step: Step) -> Iterator[str]:
        possible = [option for option in step.modes if option.possible]
        if step.modes and not step.route:
            names = ", ".join(option.mode for option in possible if not option.reason)
            yield self._said("mode", names or _at_next_start(possible))
        for option in step.modes:
            if not (option.possible or step.route or step.file):
                yield self._said(f"not {option.mode}", option.reason)

    def _guest(self, step: Step) -> Iterator[str]:
        view = step.guest
        seen = [
            *_before_after("id", view.id_before, view.id_after),
            *_before_after("slot", view.slot_before, view.slot_after),
        ]
        if seen:
            yield self._said("guest sees", ", ".join(seen))
        name = _named(view.name)
        if name:
            yield self._said("name", name, "medium" if view.name.changes else "quiet")
        if view.drivers:
            yield self._said("needs in the guest", ", ".join(view.drivers))
        for note in view.notes:
            yield self._said("guest", note)

    def _route(self, step: Step) -> Iterator[str]:
        if step.route and step.cloud is not None:
            yield self._said("route", "this is done by hand, in this order")
        elif step.route:
            order = "do this there, in this order"
            yield self._said("route", f"{step.owner} keeps the definition: {order}")
        for number, part in enumerate(step.route, 1):
            yield f"{_HANG}{number}. {safe(part)}\n"

    def _diff(self, diff: str) -> Iterator[str]:
        inside = False
        for line in _split(diff):
            inside = inside or line.startswith("@@")
            style = _DIFF_STYLES.get(line[:1], "") if inside else "name"
            yield f"{_BODY}{self._paint(style, _tabbed(line))}\n"
        if STARS in diff:
            yield f"{_BODY}(secrets are shown as {STARS}: apply makes the change, patch cannot)\n"

    def _snippets(self, snippets: tuple[Snippet, ...]) -> Iterator[str]:
        if snippets and not self._verbose:
            kinds = ", ".join(snippet.kind for snippet in snippets)
            what = "a snippet that pins" if len(snippets) == 1 else "snippets that pin"
            yield self._said(f"{what} the name ({safe(kinds)})", "--verbose")
            return
        for snippet in snippets:
            yield self._said("pins the name", f"{snippet.kind}, {snippet.path}", "fix")
            for line in _split(snippet.text):
                yield f"{_HANG}{_tabbed(line)}".rstrip() + "\n"


def _at_next_start(options: list[ModeOption]) -> str:
    """Of a guest that is off: every mode comes to the same."""
    return f"{options[0].mode} ({options[0].reason})" if options else "none"


def _differ(changes: tuple[Change, ...]) -> bool:
    """Whether one reason for the whole step would not be that of each change."""
    return len({(change.safe, change.reason) for change in changes}) > 1


def _changed(change: Change, *, explained: bool) -> str:
    """``queues 1 → 4``. An unsafe change is always called so; ``explained``: a safe one too."""
    old = "not set" if change.old is None else change.old
    new = "removed" if change.new is None else change.new
    text = f"{change.field} {old} → {new}"
    if change.safe and not explained:
        return text
    why = f"{_safety(change.safe)}: {change.reason}" if change.reason else ""
    return f"{text} ({why or _safety(change.safe)})"


def _further_reason(step: Step) -> str:
    """The step's reason without those of its changes, with which a planner begins it; a reason
    that begins otherwise (a plan may be edited) is returned whole."""
    reasons = (change.reason for change in step.changes if change.safe == step.safe)
    told = "; ".join(dict.fromkeys(filter(None, reasons)))
    if step.reason == told:
        return ""
    return step.reason.removeprefix(f"{told}; ") if told else step.reason


def _safety(safe_: bool) -> str:
    return "safe" if safe_ else "unsafe"


def _lost(loss: Loss) -> str:
    text = f"{loss.function}: {loss.detail}" if loss.detail else loss.function
    return f"{text} ({'accepted' if loss.accepted else 'blocks the step unless it is accepted'})"


def _before_after(what: str, before: str | None, after: str | None) -> Iterator[str]:
    if before is not None and before == after:
        yield f"{what} {before} as before"
    elif before is not None or after is not None:
        yield f"{what} {before or 'none or unknown'} → {after or 'none or unknown'}"


def _named(naming: Naming) -> str:
    if naming.before is None and naming.after is None:
        return f"unknown: {naming.reason}" if naming.reason else ""
    if naming.changes is False:
        text = f"{naming.before} stays"
    else:
        text = f"{naming.before or 'unknown'} → {naming.after or 'unknown'}"
    return f"{text} ({naming.reason})" if naming.reason else text


def _split(text: str) -> list[str]:
    """Lines without their ends; only LF is one."""
    return text.removesuffix("\n").split("\n") if text else []


def _tabbed(line: str) -> str:
    return "\t".join(map(safe, line.split("\t")))
