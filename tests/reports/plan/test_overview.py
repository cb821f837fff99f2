"""A plan at a glance."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from tests.reports.plan.plans import PLANS
from tests.reports.plan.samples import EMPTY, FILE, MAIL, NOVA, PLAN
from tests.shares import examples
from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.plan import (
    FileUnit,
    GuestView,
    Naming,
    NotPlanned,
    Plan,
    SettingUnit,
    Step,
    VmUnit,
)
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.safe import width_of
from vnicaudit.reports.writers import Options

SHORT = Options(width=120, view="short")


def shown(plan: Plan, options: Options = SHORT) -> str:
    return "".join(render(plan, options))


def step(number: int, *, safe: bool = True, model: str = "rtl8139") -> Step:
    """A step on a guest of its own."""
    return replace(
        MAIL,
        id=f"s{number}",
        about=Ref("nic", f"vm-{number:05d}", None, None, 0),
        changes=(Change("model", model, "virtio", safe=safe),),
        safe=safe,
        reason="the guest may be Windows",
    )


def test_a_row_for_each_of_a_few() -> None:
    text = shown(replace(PLAN, steps=(MAIL, FILE), not_planned=(), errors=(), notes=()))
    rows = [line.split() for line in text.splitlines() if line.startswith("  ")]
    assert rows[0][:2] == ["GUEST", "NIC"]
    assert rows[1][0] == "mail-01"
    assert "ens3 → eth0" in text
    assert text.splitlines()[-1].startswith("2 steps on 2 guests: ")


def test_what_is_no_guest_is_not_called_one() -> None:
    refs = (Ref("link", "eth0"), Ref("link", "eth1"), Ref("host", "kvm1"))
    steps = tuple(
        replace(step(each), about=about, unit=SettingUnit(about.name or "", "", {}, {}))
        for each, about in enumerate(refs)
    )
    for chosen, title in ((steps[:2], "LINK"), (steps, "OBJECT"), ((*steps, MAIL), "OBJECT")):
        assert f"\n  {title} " in shown(replace(PLAN, steps=chosen))
    grouped = shown(replace(PLAN, steps=steps[:2]), replace(SHORT, view="full", group_by="change"))
    assert "2 steps like this, on 2 links of 1 target: link eth0" in grouped


def test_kubevirt_restarts_a_virtual_machine() -> None:
    vm = replace(step(1), unit=VmUnit("u", "shop", "web", ()))
    text = shown(replace(PLAN, steps=(vm,), not_planned=(), errors=(), notes=()))
    assert "restart of the VM" in text
    assert "power cycle" not in text


@pytest.mark.parametrize("number", [21, 300, 10_000])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_equal_changes_share_a_row(number: int, width: int) -> None:
    steps = tuple(
        step(each, safe=each % 3 > 0, model=("rtl8139", "e1000")[each % 2])
        for each in range(number)
    )
    text = shown(replace(PLAN, steps=steps), replace(SHORT, width=width))
    assert len(text.splitlines()) < 60
    counted = re.findall(r"^  ([\d,]+) guests? ", text, re.MULTILINE)
    assert sum(int(one.replace(",", "")) for one in counted) == number
    risks = re.findall(r"virtio +(unsafe|safe)", text)
    assert risks == sorted(risks, reverse=True)  # exceptions first


def test_many_kinds_are_counted() -> None:
    steps = tuple(step(each, model=f"model-{each}") for each in range(40))
    text = shown(replace(PLAN, steps=steps))
    assert "  … 24 more steps of 24 more kinds (--diff)\n" in text


def test_guests_of_one_name_in_several_files_are_several() -> None:
    unit = FILE.unit
    steps = tuple(
        replace(FILE, id=str(each), unit=replace(unit, path=f"{each}.xml")) for each in range(30)
    )
    assert re.search(r"^  30 guests +30 ", shown(replace(PLAN, steps=steps)), re.MULTILINE)
    name = FILE.about.name
    assert f"{name} (0.xml), {name} (1.xml)" in shown(replace(PLAN, steps=steps))
    assert f"  {name} (1.xml)  " in shown(replace(PLAN, steps=steps[:2]))


def test_guests_of_one_name_in_one_file_are_told_apart_by_line() -> None:
    about = replace(FILE.about, id=None)
    steps = tuple(
        replace(
            FILE,
            about=about,
            unit=FileUnit("d.xml", f"/domain[{number}]/devices/interface[1]", line),
        )
        for number, line in ((1, 1), (2, 40))
    )
    text = shown(replace(PLAN, steps=steps))
    assert f"  {about.name} (line 1)  " in text
    assert f"  {about.name} (line 40)  " in text
    assert "2 steps on 2 guests: " in text


def test_guests_of_one_name_that_are_left_out_are_told_apart() -> None:
    nic = Ref("nic", "vm", mac="52:54:00:00:00:01")
    three = tuple(
        NotPlanned(nic, "d", ("VNIC001",), "why", file=file, line=line)
        for file, line in (("d/a.xml", 1), ("d/b.xml", 1), ("d/b.xml", 40))
    )
    text = shown(replace(EMPTY, not_planned=three))
    assert "    vm (a.xml), vm (b.xml, line 1), vm (b.xml, line 40)\n" in text
    named = shown(replace(EMPTY, not_planned=three), replace(SHORT, verbose=True))
    assert "vm  NIC 52:54:00:00:00:01  VNIC001  d/b.xml:40\n" in named


def test_why_it_is_unsafe_blocked_or_by_hand() -> None:
    text = shown(replace(PLAN, steps=(step(1, safe=False), NOVA)))
    assert "unsafe, 1 step: the guest may be Windows\n" in text
    assert "by hand, 1 step: nova owns the definition; --diff shows what to do there\n" in text


def test_a_column_that_says_nothing_is_left_out() -> None:
    nameless = replace(step(1), guest=GuestView(name=Naming(reason="who knows")))
    text = shown(replace(PLAN, steps=(nameless,)))
    assert "INTERFACE NAME" not in text
    assert "interface name: unknown for 1: who knows\n" in text


def test_a_name_that_stays_is_not_called_unknown() -> None:
    same = GuestView(name=Naming(reason="the same device", same_device=True))
    unknown = GuestView(name=Naming(reason="who knows"))
    steps = (
        *(replace(step(number), guest=same) for number in (1, 2)),
        replace(step(3), guest=unknown),
    )
    assert "interface name: stays for 2, unknown for 1: who knows\n" in shown(
        replace(PLAN, steps=steps)
    )
    assert "interface name" not in shown(replace(PLAN, steps=steps[:2]))


def test_what_was_left_out_is_counted_with_names() -> None:
    text = shown(replace(PLAN, steps=()))
    assert "Left out (--verbose names each)\n" in text


def test_nothing_to_change() -> None:
    assert shown(EMPTY) == "Nothing to change\n"


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(PLANS)
def test_whatever_a_plan_holds_lines_are_harmless(plan: Plan) -> None:
    text = shown(plan)
    text.encode()
    assert all(line.isprintable() for line in text.split("\n"))
    assert width_of(text.splitlines()[0]) >= 0
