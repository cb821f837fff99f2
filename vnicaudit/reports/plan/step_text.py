"""One step of a plan as text: the change, the NIC, how it is made, and its effect on the guest."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Change, name_of
from vnicaudit.model.plan import (
    CloudUnit,
    FileUnit,
    FlavorUnit,
    Loss,
    ModeOption,
    Naming,
    ServerUnit,
    Snippet,
    Step,
)
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, Piece, fold, safe, with_lead
from vnicaudit.reports.wording import nic_label
from vnicaudit.text.secrets import STARS

_HEAD = "    "
_BODY = "      "
_HANG = "        "
STYLES = {"safe": "good", "unsafe": "medium", "blocked": "bad"}
_DIFF_STYLES = {"-": "removed", "+": "added", "@": "hunk"}


def state_of(step: Step) -> str:
    """``blocked``, else ``safe`` or ``unsafe``. A loss that was not accepted blocks a step."""
    if step.blocked or any(not loss.accepted for loss in step.losses):
        return "blocked"
    return _safety(step.safe)


def about_label(step: Step) -> str:
    """The NICs of the step; for an image or a flavor, its kind."""
    unit = step.unit
    if not isinstance(unit, CloudUnit) or step.about.index is not None:
        return nic_label(step.about)
    if isinstance(unit, FlavorUnit) and unit.new_name:
        return f"new flavor {unit.new_name}"
    if isinstance(unit, ServerUnit) and unit.macs:
        return f"NIC{'s' * (len(unit.macs) != 1)} {' '.join(unit.macs)}"
    return unit.kind


class StepText:
    """Renders steps for a terminal. Text to be copied (the diff, commands, snippets) is not
    wrapped."""

    def __init__(self, options: Options) -> None:
        self._width = options.width
        self._verbose = options.verbose
        self._paint = Paint(color=options.color)

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
            yield self._labelled("loses", _loss_words(loss), "quiet" if loss.accepted else "bad")
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
        words = [step.id, about_label(step), f"to {step.to}", ", ".join(step.rules)]
        pieces = [Piece(state, self._paint(STYLES[state], state))]
        pieces.extend(Piece(word, word) for word in map(safe, words) if word)
        return fold(pieces, self._width, _HEAD, _BODY, "  ")

    def _labelled(self, label: str, text: str, style: str = "quiet") -> str:
        """``label: text``, wrapped; only the label if there is no text."""
        lead = Piece(safe(label), self._paint(style, safe(label)))
        return with_lead(lead, safe(f": {text}") if text else "", self._width, _BODY, _HANG)

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
            yield self._labelled("mode", names or _at_next_start(possible))
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
        elif step.procedure:
            order = "do this there, in this order"
            yield self._labelled("procedure", f"{name_of(step.owner)} owns the definition: {order}")
        for number, part in enumerate(step.procedure, 1):
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
            yield self._labelled(f"{what} the name ({safe(kinds)})", "--verbose")
            return
        for snippet in snippets:
            yield self._labelled("pins the name", f"{snippet.kind}, {snippet.path}", "fix")
            for line in _split(snippet.text):
                yield f"{_HANG}{_tabbed(line)}".rstrip() + "\n"


def _at_next_start(options: list[ModeOption]) -> str:
    """Mode and reason for a guest that is off, for which all modes are the same."""
    return f"{options[0].mode} ({options[0].reason})" if options else "none"


def _reasons_differ(changes: tuple[Change, ...]) -> bool:
    """True if the changes of a step have different reasons, so that one reason is not enough."""
    return len({(change.safe, change.reason) for change in changes}) > 1


def _change_words(change: Change, *, explained: bool) -> str:
    """``queues 1 → 4``. An unsafe change is always marked; ``explained``: a safe one too."""
    old = "not set" if change.old is None else change.old
    new = "removed" if change.new is None else change.new
    text = f"{change.field} {old} → {new}"
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


def _loss_words(loss: Loss) -> str:
    text = f"{loss.function}: {loss.detail}" if loss.detail else loss.function
    return f"{text} ({'accepted' if loss.accepted else 'blocks the step unless it is accepted'})"


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


def _tabbed(line: str) -> str:
    return "\t".join(map(safe, line.split("\t")))
