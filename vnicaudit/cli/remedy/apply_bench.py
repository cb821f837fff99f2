"""``vnicaudit apply --bench``: measure each guest before and after, then keep the change or undo
it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vnicaudit.base.wording import count
from vnicaudit.bench.endpoints.opening import parse
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.trials.guest_by_guest import (
    Applied,
    GuestByGuest,
    GuestMeasured,
    GuestRefused,
    RolledBack,
)
from vnicaudit.bench.trials.request import TrialRequest, cost
from vnicaudit.bench.trials.single_flip import TrialFactory
from vnicaudit.cli.bench.options import drawn_seed
from vnicaudit.cli.bench.output import BenchProgress
from vnicaudit.cli.options.output import screen_options
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.output.run_progress import RunTelling
from vnicaudit.cli.remedy.run_output import ROLLED_BACK, print_result, print_run
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.reports.bench.formats import to_text
from vnicaudit.reports.bench.labels import duration
from vnicaudit.reports.safe import safe
from vnicaudit.text.targets import command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.trials.guest_by_guest import Event
    from vnicaudit.cli.options.remedy import ApplyOptions
    from vnicaudit.model.measurement import BenchResult, Design
    from vnicaudit.model.plan import Step
    from vnicaudit.remedy.applying.apply import RunContext
    from vnicaudit.remedy.applying.driver import KindTable
    from vnicaudit.remedy.applying.journal.events import UnitRequest
    from vnicaudit.remedy.hypervisor import GetAdapters

_ONCE: Literal["single-flip"] = "single-flip"
_POSSIBLE = (_ONCE, "flips", "boots")
"""The designs that are possible with a plan."""


class Measurement:
    """The measurement of guests while a plan is applied. Raises UsageError for options with which
    nothing can be measured. ``bench``: name or file of a profile."""

    def __init__(self, options: ApplyOptions, bench: str, adapters: GetAdapters) -> None:
        if options.mode == "next-boot":
            raise UsageError(
                "--bench measures the running guest: add --mode restart or --mode hotswap"
            )
        if options.schedule.batch > 1:
            raise UsageError(
                "--bench needs --batch 1: guests would disturb each other's measurements"
            )
        peer = options.trials.bench_peer
        parse(peer)  # report an invalid endpoint before anything is measured
        profile = load_profile(bench)
        if profile.states:
            raise UsageError(
                f"profile {profile.name} needs commands that switch the server between states, "
                "which apply cannot run: measure with `bench run` before and after"
            )
        self._options = options
        self._request = TrialRequest(
            profile=profile,
            peer=peer,
            seed=drawn_seed(),
            undecided="keep" if options.trials.on_undecided == "keep" else "roll-back",
            state=Path(options.folder),
            listener=BenchProgress(options.output),
            adapters=adapters,
            restarts=options.mode == "restart",
        )
        self.in_turns = False
        """The change is made and undone in turns; otherwise it is made once."""
        self.trials = TrialFactory(self._request)
        """The trials of a run: each guest is measured once before and once after."""

    def choose_design(self, units: Sequence[UnitRequest]) -> None:
        """Choose how these units are measured, and print how long that takes."""
        profile, listener = self._request.profile, self._request.listener
        self.in_turns = alternates(profile, units)
        design: Design = _ONCE
        if self.in_turns:
            design = "boots" if self._request.restarts else "flips"
        first, last = cost(profile, design, self._request.seed)
        each = f"Measuring: {count(sum(len(unit.macs) for unit in units), 'NIC')}, for each"
        if not self.in_turns:
            listener.says(f"{each} about {duration(first.seconds)}")
            return
        changed = "power cycle" if self._request.restarts else "hot swap"
        listener.says(
            f"{each} {first.turns} turns with {count(first.changes, changed)}, about "
            f"{duration(first.seconds)}; if that is not conclusive, up to {last.turns} turns "
            f"with {count(last.changes, changed)}, about {duration(last.seconds)}"
        )

    def apply_in_turns(self, steps: Sequence[Step], text: bytes, context: RunContext) -> int:
        """Guest by guest, make the change and undo it in turns, and keep it if it helps; returns
        the exit code. ``text``: contents of the plan file."""
        say = RunTelling(quiet=self._options.output.quiet)
        trials = GuestByGuest(steps, text, context, self._request, say)
        codes = [0, *(self._print_event(event, context.kinds) for event in trials.run())]
        return max(codes, key=lambda code: (code == RefusedError.exit_code, code))

    def _print_event(self, event: Event, kinds: KindTable) -> int:
        """Print an event; returns the exit code of this event alone."""
        if isinstance(event, GuestMeasured):
            self._show(event.result)
            return 0
        if isinstance(event, RolledBack):
            tell(safe(f"{event.name}: rolled back: {'; '.join(event.decision.reasons[:3])}"))
            return ROLLED_BACK
        if isinstance(event, Applied):
            return print_run(event.run, self._options, kinds)
        if isinstance(event, GuestRefused):
            tell(safe(f"{event.name}: refused: {event.reason}"))
        else:
            reason = f"{event.reason}; {event.name} and the guests after it were not reached"
            tell(safe(f"Stopped: {reason}"))
        return RefusedError.exit_code

    def show_results(self) -> None:
        """Print the results of all trials."""
        for kept in self.trials.measurements():
            self._show(kept.result())

    def _show(self, result: BenchResult) -> None:
        def pieces() -> Iterator[str]:
            yield from to_text(result, screen_options(self._options.output))
            shown = command(f"bench show {result.run.id}", self._options.folder)
            yield f"Stored as {safe(result.run.id)}: {safe(shown)}\n\n"

        print_result(pieces)


def alternates(profile: Profile, units: Sequence[UnitRequest]) -> bool:
    """True if the change is made and undone in turns: that is the first design of the profile that
    is possible with a plan or, if it has none, possible, and the profile can decide that way."""
    first = next((one for one in profile.designs if one in _POSSIBLE), "flips")
    one_nic = all(len(unit.macs) == 1 and unit.uuid is not None for unit in units)
    return first != _ONCE and one_nic and not profile.catastrophe_only
