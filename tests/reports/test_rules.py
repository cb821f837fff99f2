"""The catalogue and the manual."""

import re

import msgspec
import pytest

from tests.reports.samples import RULES
from vnicaudit.model.names import RulesReport
from vnicaudit.reports.rules import catalogue_json, catalogue_text, manual_text
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options

LIST = """\
VNIC001  high    legacy-emulated-nic  Legacy emulated NIC
VNIC009  low     mixed-models         Mixed models
VNIC020  high    vhost-inactive       No vhost
VNIC030  medium  no-multiqueue        One queue"""

NARROW = """\
VNIC001  high    legacy-emulated-nic
    Legacy emulated NIC
VNIC009  low     mixed-models
    Mixed models"""


def test_a_line_per_rule() -> None:
    assert catalogue_text(RULES, Options()) == LIST


def test_a_narrow_terminal_has_the_summary_below() -> None:
    assert catalogue_text(RULES[:2], Options(width=40)) == NARROW


def test_severities_are_coloured() -> None:
    coloured = catalogue_text(RULES, Options(color=True))
    assert coloured.startswith("\x1b[1mVNIC001\x1b[0m  \x1b[1;31mhigh\x1b[0m    legacy")


def test_the_json_reads_back() -> None:
    text = catalogue_json(RULES)
    assert msgspec.json.decode(text, type=RulesReport) == RulesReport(rules=RULES)
    assert msgspec.json.decode(catalogue_json(()), type=RulesReport).rules == ()


def test_the_manual_is_markdown_without_colour() -> None:
    assert manual_text(RULES[0], Options()) == (
        "# VNIC001 legacy-emulated-nic\n\n"
        "Severity: high. Legacy emulated NIC.\n\n## What is wrong\n\nThe NIC is *emulated*."
    )


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_manual_is_rendered_for_a_terminal(width: int) -> None:
    text = manual_text(RULES[0], Options(width=width, color=True))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "\x1b[3memulated\x1b[0m" in text
    assert "The NIC is emulated." in plain
    assert "*" not in plain
    assert max(map(width_of, plain.splitlines())) <= min(width, 100)
