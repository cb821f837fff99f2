"""A plan for people."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.reports.golden import golden
from tests.reports.plan.plans import PLANS
from tests.reports.plan.samples import EMPTY, FILE, LINK, MAIL, MAIL_1, NOT_PLANNED, NOVA, PLAN
from tests.rows import rows
from tests.shares import examples
from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.plan import (
    FileUnit,
    GuestView,
    Loss,
    ModeOption,
    Naming,
    NotPlanned,
    Plan,
    Snippet,
    Step,
)
from vnicaudit.reports.plan.steps import field_and_change
from vnicaudit.reports.plan.text import render, summary
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options

WHOLE = golden("plan.text.whole.txt")

VERBOSE = golden("plan.text.verbose.txt")


def text_of(plan: Plan, options: Options) -> str:
    return "".join(render(plan, options))


def of(step: Step, options: Options | None = None) -> str:
    """The lines of one step alone, without the target's and the domain's."""
    text = text_of(replace(EMPTY, steps=(step,)), options or Options(width=200, quiet=True))
    return text.partition("\n    ")[2]


def test_a_whole_plan() -> None:
    assert text_of(PLAN, Options(width=80)) == WHOLE


def test_verbose_adds_reasons_snippets_digests_and_names_what_was_left() -> None:
    plan = replace(EMPTY, steps=(replace(MAIL, diff=""),), not_planned=NOT_PLANNED)
    assert text_of(plan, Options(width=80, verbose=True)) == VERBOSE


def test_quiet_leaves_the_summary_away() -> None:
    assert text_of(PLAN, Options(width=80, quiet=True)) == WHOLE[: WHOLE.index("4 steps on")]
    assert text_of(EMPTY, Options(quiet=True)) == ""


def test_nothing_to_change() -> None:
    assert text_of(EMPTY, Options()) == "Nothing to change\n"
    assert summary(replace(EMPTY, not_planned=NOT_PLANNED)) == "Nothing to change; 3 NICs left out"


def test_the_summary_counts_domains_once_and_each_step_once() -> None:
    assert summary(replace(EMPTY, steps=(MAIL, MAIL_1))) == (
        "2 steps on 1 guest: 1 safe, 1 blocked"
    )
    other = replace(MAIL, target="qemu+ssh://kvm2/system")
    assert summary(replace(EMPTY, steps=(MAIL, other))) == "2 steps on 2 guests: 2 safe"


def test_two_domains_of_one_name_in_two_files_stay_apart() -> None:
    other = replace(FILE, id="s9", unit=FileUnit("definitions/copy.xml"))
    text = text_of(replace(EMPTY, steps=(FILE, other)), Options(quiet=True))
    assert re.findall(r"^  web-01  libvirt  (\S+)", text, re.MULTILINE) == [
        "definitions/web-01.xml", "definitions/copy.xml",
    ]  # fmt: skip


def test_a_file_that_was_named_is_not_named_twice() -> None:
    step = replace(FILE, target="web-01.xml", unit=FileUnit("web-01.xml"))
    text = text_of(replace(EMPTY, steps=(step,)), Options(quiet=True))
    assert text.startswith("web-01.xml\n  web-01  libvirt  readiness: likely-ready\n")


def test_what_steps_of_a_domain_do_not_agree_on_is_shown() -> None:
    steps = (MAIL, replace(MAIL_1, running=False, readiness="unknown"))
    text = text_of(replace(EMPTY, steps=steps), Options(width=100))
    assert "  mail-01  libvirt  running  readiness: ready  shut off  readiness: unknown\n" in text


@pytest.mark.parametrize(
    ("accepted", "state", "why"),
    [(False, "blocked", "blocks the step unless it is accepted"), (True, "safe", "accepted")],
)
def test_a_loss_blocks_unless_it_is_accepted(accepted: bool, state: str, why: str) -> None:
    step = replace(MAIL, losses=(Loss("isolation", "ports see each other", accepted=accepted),))
    text = of(step)
    assert text.startswith(f"{state}  s1  NIC 0")
    assert f"      loses: isolation: ports see each other ({why})\n" in text


def test_no_mode_is_possible() -> None:
    modes = (ModeOption("restart", possible=False, reason="transient"),)
    assert "      mode: none\n      not restart: transient\n" in of(replace(MAIL, modes=modes))


@pytest.mark.parametrize(
    ("naming", "line"),
    [
        (Naming("ens3", "ens3", "the slot stays"), "name: ens3 stays (the slot stays)"),
        (Naming("ens3", None, "no rule is known"), "name: ens3 → unknown (no rule is known)"),
        (Naming(None, "eth0"), "name: unknown → eth0"),
        (Naming(reason="no agent"), "name: unknown: no agent"),
    ],
)
def test_names(naming: Naming, line: str) -> None:
    assert f"      {line}\n" in of(replace(MAIL, guest=GuestView(name=naming)))


def test_nothing_is_said_of_a_guest_of_which_nothing_is_known() -> None:
    text = of(replace(MAIL, guest=GuestView()))
    labels = re.findall(r"^ {6}([a-z ]+): ", text, re.MULTILINE)
    assert labels == ["change", "change", "safe", "mode", "not hotswap", "note"]


def test_snippets_are_counted_in_words() -> None:
    two = (LINK, Snippet("netplan", "/etc/netplan/60-ens3.yaml", "network: {}\n"))
    text = of(replace(MAIL, guest=GuestView(snippets=two)))
    assert text.endswith("      snippets that pin the name (systemd-link, netplan): --verbose\n\n")


def test_verbose_says_where_in_a_file() -> None:
    text = of(FILE, Options(width=200, verbose=True, quiet=True))
    assert "      place: /domain/devices/interface[1]\n      digest: sha256:5f" in text


def test_a_removed_line_that_looks_like_a_header_is_removed() -> None:
    diff = "--- a\n+++ a\n@@ -1 +1 @@\n--- gone\n+++ new\n"
    coloured = of(replace(MAIL, diff=diff), Options(color=True, quiet=True, width=80))
    assert "\x1b[1m--- a\x1b[0m\n" in coloured
    assert "\x1b[31m--- gone\x1b[0m\n" in coloured
    assert "\x1b[32m+++ new\x1b[0m\n" in coloured


def test_a_definition_cannot_draw_on_the_terminal() -> None:
    diff = "@@ -1 +1 @@\n-\t<a\x1b[2J>\r\n+\u202e\n"
    text = of(replace(MAIL, diff=diff))
    assert "      -\t<a\\x1b[2J>\\r\n      +\\u202e\n" in text


def test_twenty_errors_are_shown_and_the_rest_counted() -> None:
    plan = replace(EMPTY, errors=tuple(f"host{number}: gone" for number in range(1, 23)))
    text = text_of(plan, Options())
    assert "  host20: gone\n  … 2 more (--verbose shows them)\n" in text
    assert text.endswith("Nothing to change; 22 errors while reading\n")
    assert "  host22: gone\n" in text_of(plan, Options(verbose=True))


def test_a_nic_without_a_domain_is_still_named() -> None:
    left = (NotPlanned(Ref("nic"), "host", ("VNIC001",), "nothing is known of it"),)
    text = text_of(replace(EMPTY, not_planned=left), Options(verbose=True))
    assert "    (no name)  VNIC001  host\n" in text


def test_colour_adds_nothing_but_colour() -> None:
    for verbose in (False, True):
        coloured = text_of(PLAN, Options(width=80, color=True, verbose=verbose))
        assert "\x1b[31m-      <model type='rtl8139'/>\x1b[0m" in coloured
        plain = text_of(PLAN, Options(width=80, verbose=verbose))
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


@pytest.mark.parametrize(
    ("steps", "style"), [((MAIL, NOVA), "\x1b[1;32m"), ((MAIL, MAIL_1), "\x1b[1;31m")]
)
def test_the_summary_is_red_where_something_is_blocked(steps: tuple[Step, ...], style: str) -> None:
    last = text_of(replace(EMPTY, steps=steps), Options(color=True)).splitlines()[-1]
    assert last.startswith(f"{style}2 steps on ")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("verbose", [False, True])
def test_every_width_is_kept_but_for_what_is_copied(width: int, verbose: bool) -> None:
    text = text_of(PLAN, Options(width=width, verbose=verbose))
    copied = re.compile(r" {8}\d\. | {6}[-+@ ]| {8}(?:MAC|Name)|.*sha256")
    for line in text.splitlines():
        words = line.split()
        assert width_of(line) <= width or copied.match(line) or len(words) == 1, line


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(PLANS, st.integers(20, 200), st.booleans())
def test_whatever_a_plan_holds_lines_are_harmless(plan: Plan, width: int, verbose: bool) -> None:
    text = text_of(plan, Options(width=width, verbose=verbose))
    text.encode()
    for line in text.split("\n"):
        assert line.replace("\t", "").isprintable(), ascii(line)
    heads = re.findall(r"^    (?:safe|unsafe|blocked)(?:$|  )", text, re.MULTILINE)
    assert len(heads) >= len(plan.steps)


@rows
def test_a_change_of_several_settings(field: str, old: str, new: str, words: str) -> None:
    assert field_and_change(Change(field, old, new, safe=True), most=2) == words
