"""Reports for a terminal: each width is kept, and colour adds nothing but colour."""

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.reports.bench.golden import written as written_bench
from tests.reports.bench.samples import two_arms
from tests.reports.nic_samples import EMPTY, ODD, WEB
from tests.reports.plan.samples import PLAN
from tests.reports.samples import RULES, written
from tests.reports.test_explain import IT
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.reports.explain import explanation_text
from vnicaudit.reports.nics import as_text
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.rules import catalogue_text
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options

FOLDED: dict[str, Callable[[Options], str]] = {
    "audit": lambda options: written("text", options),
    "equal findings": lambda options: written(
        "text", replace(options, view="short", wordings=Wordings())
    ),
    "nics": lambda options: "".join(as_text([WEB, EMPTY, ODD], options)),
    "explain": lambda options: explanation_text(IT, options),
    "rules": lambda options: catalogue_text(RULES, options),
    "measurement": lambda options: written_bench("text", two_arms(), options),
}
WRITTEN: dict[str, Callable[[Options], str]] = {
    **FOLDED,
    "plan": lambda options: "".join(render(PLAN, options)),
    "table of a plan": lambda options: "".join(render(PLAN, replace(options, view="short"))),
}
"""Plans have parts that are copied, and not wrapped."""


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", FOLDED)
def test_no_line_is_wider_than_the_terminal(name: str, width: int, verbose: bool) -> None:
    for line in FOLDED[name](Options(width=width, verbose=verbose)).splitlines():
        assert width_of(line) <= width or " " not in line.strip(), line


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", WRITTEN)
def test_colour_adds_nothing_but_colour(name: str, verbose: bool) -> None:
    plain = Options(width=80, verbose=verbose)
    coloured = WRITTEN[name](replace(plain, color=True))
    assert "\x1b" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == WRITTEN[name](plain)
