"""Rows, guard rails and verdict never contradict one another, whatever mixture of runs there is."""

import random
from collections.abc import Sequence
from typing import Literal

import pytest

from tests.bench.judging.made import RR, TCP, sample
from vnicaudit.bench.judging.catastrophe import Question, failure_words, unproven_falls
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.stopping import NextRun, State, next_step
from vnicaudit.bench.judging.terms import Terms, alphas_of_turns
from vnicaudit.bench.judging.verdict import HARMLESS, decide, newly_failed_rails
from vnicaudit.model.measurement import (
    Comparison,
    Decision,
    Design,
    Failure,
    GuardRail,
    Sample,
    Witness,
    Workload,
)  # fmt: skip

ARMS = ("before", "after")
WORKLOADS = (TCP, RR)
LEVELS = {TCP.id: 1e9, RR.id: 100.0}
DESIGNS: tuple[Design, ...] = ("live-flip", "flips", "boots", "single-flip")
FAILURES: tuple[Failure, ...] = ("tool", "silent", "lost")
SEEDS = range(300)


class Mixture:
    """What becomes of the runs of one measurement, by chance: each workload has in each arm a
    level, a noise, and shares of runs that fail, are dead or do not count."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.design = source.choice(DESIGNS)
        turns = self.design in ("flips", "boots")
        looks = source.choice([(2,), (2, 3), (2, 3, 5)] if turns else [(3,), (5,), (5, 7)])
        self.terms = Terms(
            looks=looks, alphas=alphas_of_turns(looks), design=self.design,
            runs_per_turn=source.choice((1, 2)) if turns else 1,
            on_inconclusive=source.choice(("keep", "roll-back")),
            on_equivalent=source.choice(("keep", "roll-back")),
            catastrophe_only=source.random() < 0.2,
        )  # fmt: skip
        self.arms = {(each.id, arm): self._arm() for each in WORKLOADS for arm in ARMS}

    def _arm(self) -> dict[str, float]:
        source = self.source
        kinds = ("fail", "dead", "silent", "stolen")
        shares = {kind: source.choice((0.0,) * 12 + (0.2, 0.5, 1.0)) for kind in kinds}
        level = source.choice((1.0, 1.0, 0.9, 0.5, 0.1, 1.3, 4.0))
        return {"level": level, "noise": source.choice((0.01, 0.05)), **shares}

    def run(self, workload: Workload, arm: str, block: int, order: int) -> Sample:
        """One run."""
        source, how = self.source, self.arms[workload.id, arm]
        place = {"workload": workload.id, "order": order, "boot": f"{arm} {block}"}
        said = Witness(source.random() < 0.5, "as it was seen")
        if source.random() < how["fail"]:
            failed: dict[str, object] = {"failure": source.choice(FAILURES), "witness": said}
            return sample(None, arm, block, valid=False, reason="it failed", **failed, **place)
        if source.random() < how["silent"]:
            quiet = Witness(False, "0 of 3 answered")
            return sample(
                None, arm, block, valid=False, reason="nothing arrived", failure="silent",
                witness=quiet, **place,
            )  # fmt: skip
        value = LEVELS[workload.id] * how["level"] * (1 + source.gauss(0, how["noise"]))
        value = 0.0 if workload is TCP and source.random() < how["dead"] else max(value, 1e-3)
        stolen = source.random() < how["stolen"]
        metric = workload.decides[0]
        return sample(
            None, arm, block, valid=not stolen, reason="steal 9 %" if stolen else "",
            values={metric: value}, witness=Witness(True, "3 of 3 answered"),
            **place,
        )  # fmt: skip

    def rails(self) -> list[GuardRail]:
        """As they are found at the end."""
        verdicts: tuple[Literal["ok", "failed", "unknown"], ...]
        verdicts = (*("ok",) * 18, "failed", "unknown")
        return [
            GuardRail(name, arm, self.source.choice(verdicts))
            for name in ("ping", "path_mtu")
            for arm in ARMS
        ]


def measured(mixture: Mixture) -> tuple[list[Sample], NextRun]:
    """The runs, as the collector would make them, to the end."""
    samples: list[Sample] = []
    terms, step = mixture.terms, NextRun("go-on")
    for arm, block in _order(mixture):
        for workload in WORKLOADS:
            here = arm
            while True:
                samples.append(mixture.run(workload, here, block, len(samples)))
                step = next_step(State(samples=samples, workloads=WORKLOADS, arms=ARMS), terms)
                if step.action != "again":
                    break
                here = step.arm or here
            if step.action in ("stop", "give-up"):
                return samples, step
    return samples, step


def _order(mixture: Mixture) -> list[tuple[str, int]]:
    blocks = range(mixture.terms.looks[-1] * mixture.terms.runs_per_turn)
    if mixture.design == "single-flip":
        return [(arm, block) for arm in ARMS for block in blocks]
    return [(arm, block) for block in blocks for arm in (ARMS if block % 2 else ARMS[::-1])]


def contradictions(
    mixture: Mixture, rows: Sequence[Comparison], rails: Sequence[GuardRail], step: NextRun,
    decision: Decision,
) -> list[str]:  # fmt: skip
    """What one says and another denies."""
    primary = [row for row in rows if row.primary]
    verdicts = {row.verdict for row in primary}
    broken = newly_failed_rails(rails, {"before"})
    harmed = "regressed" in verdicts or bool(broken) or bool(step.catastrophe)
    found = [
        ("regressed, and nothing says so", decision.verdict == "regressed" and not harmed),
        ("a row regressed, and the verdict is another", harmed and decision.verdict != "regressed"),
        ("a catastrophe, and no row regressed",
         bool(step.catastrophe) and "regressed" not in verdicts),
        ("improved, and a row was not measured",
         decision.verdict == "improved" and "invalid" in verdicts),
        ("improved, and no row is", decision.verdict == "improved" and "improved" not in verdicts),
        ("kept, and it harmed", decision.action == "keep" and harmed),
        ("harmless, and a row is open",
         decision.verdict in HARMLESS - {"improved"} and not verdicts <= HARMLESS),
        ("a row that no run counts for has a verdict", any(
            (row.before is None or row.after is None)
            and row.verdict not in ("invalid", "generator-limited")
            and not step.catastrophe for row in primary)),
        ("no reasons", not decision.reasons),
    ]  # fmt: skip
    if not mixture.terms.catastrophe_only:
        open_ = verdicts & {"invalid"}
        found.append(
            ("invalid row, other verdict",
             bool(open_) and decision.verdict not in ("invalid", "regressed"))
        )  # fmt: skip
        found.append(
            (
                "invalid, and no row is",
                decision.verdict == "invalid" and primary != [] and not open_,
            )
        )
    return [words for words, contradict in found if contradict]


@pytest.mark.parametrize("first", range(0, len(SEEDS), 100))
def test_rows_rails_and_verdict_agree(first: int) -> None:
    wrong = {}
    for seed in SEEDS[first : first + 100]:
        mixture = Mixture(random.Random(seed))
        samples, step = measured(mixture)
        if step.action == "give-up":  # which is an error, and no verdict
            continue
        rows = compare(samples, WORKLOADS, *ARMS, mixture.terms)
        question = Question(WORKLOADS, *ARMS, mixture.design)
        rails = mixture.rails()
        decision = decide(
            rows, mixture.terms, guard_rails=rails, catastrophe=step.catastrophe,
            failures=failure_words(samples, WORKLOADS, *ARMS),
            unproven=unproven_falls(samples, question),
        )  # fmt: skip
        found = contradictions(mixture, rows, rails, step, decision)
        if found:
            wrong[f"seed {seed}, {mixture.design}"] = (
                found,
                decision.verdict,
                [(row.metric, row.verdict) for row in rows if row.primary],
                step,
            )
    assert not wrong
