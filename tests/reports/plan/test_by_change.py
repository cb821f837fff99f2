"""A plan of ten thousand steps stays one that can be reviewed."""

from collections.abc import Iterator

from msgspec.structs import replace

from tests.regressions.hostile_input.growth import MOST, TIMES, ratio
from tests.reports.plan.samples import EMPTY, MAIL
from vnicaudit.model.finding import Ref
from vnicaudit.model.plan import Blocked, GuestView, Naming, Step
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.writers import Options

STEPS = 10_000
HOSTS = 200
MOST_LINES = 120

DIFF = """\
--- {name}
+++ {name}
@@ -{line},5 +{line},5 @@
     <interface type='bridge'>
       <mac address='{mac}'/>
-      <model type='rtl8139'/>
+      <model type='virtio'/>
     </interface>
"""


def step_on(number: int, step: Step = MAIL) -> Step:
    """The step on another guest: what is its own differs, the change does not."""
    name, mac = f"web-{number}", f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}"
    uuid = f"00000000-0000-4000-8000-{number:012x}"
    slot = f"0000:00:{number % 30:02x}.0"
    view = GuestView("10ec:8139", "1af4:1000", slot, slot, Naming(f"ens{number % 30}", "eth0"))
    return replace(
        step,
        id=str(number),
        target=f"qemu+ssh://kvm{number * HOSTS // STEPS}/system",
        about=Ref("nic", name, uuid, mac, 0, None),
        diff=DIFF.format(name=name, line=number % 90, mac=mac),
        guest=view,
    )


UNSAFE = replace(MAIL, safe=False, reason="Windows has no driver")
BLOCKED = replace(MAIL, blocked=(Blocked("managed-save", "a managed save is in the way"),))
OWNED = replace(BLOCKED, owner="nova", procedure=("openstack image set …",))


def fleet() -> Iterator[Step]:
    """Ten thousand steps, of which some are not as the others."""
    odd = {17: UNSAFE, 18: UNSAFE, 5_000: BLOCKED, 9_000: OWNED}
    other = replace(MAIL, rules=("VNIC002",))
    for number in range(1, STEPS + 1):
        step = odd.get(number, other if number in range(200, 250) else MAIL)
        yield step_on(number, step)


def rendered(steps: tuple[Step, ...]) -> list[str]:
    """The lines of a plan by change."""
    plan = replace(EMPTY, targets=(), steps=steps)
    text = "".join(render(plan, Options(width=100, group_by="change")))
    return text.splitlines()


def test_ten_thousand_steps_are_few_lines_and_exceptions_come_first() -> None:
    steps = tuple(fleet())
    assert ratio(rendered, steps[: STEPS // TIMES], steps) <= MOST
    lines = rendered(steps)
    assert len(lines) < MOST_LINES
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads == [
        "blocked  1 step, 1 kind",
        "unsafe  2 steps, 1 kind",
        "for the owner to do  1 step, 1 kind",
        "safe  9,996 steps, 2 kinds",
        "10,000 steps on 10,000 guests: 9,996 safe, 2 unsafe, 1 blocked, 1 for the owner to do",
    ]
    like = [line.strip() for line in lines if " like this, on " in line]
    assert like == [
        "1 step like this, on web-5000 (step 5000) at qemu+ssh://kvm100/system",
        "2 steps like this, on 2 guests of 1 target: web-17 (step 17), web-18 (step 18)",
        "1 step like this, on web-9000 (step 9000) at qemu+ssh://kvm180/system",
        "50 steps like this, on 50 guests of 1 target: web-200 (step 200), web-201 (step 201), "
        "web-202",
        "9,946 steps like this, on 9,946 guests of 200 targets: web-1 (step 1), web-2 (step 2), "
        "web-3",
    ]


def test_what_changes_otherwise_is_not_put_together() -> None:
    other_line = replace(
        step_on(2), diff=step_on(2).diff.replace("+      <m", "+      <driver/><m")
    )
    other_name = replace(step_on(3), guest=GuestView(name=Naming("ens3", "ens3")))
    steps = (step_on(1), other_line, other_name, step_on(4))
    like = [line.strip() for line in rendered(steps) if " like this, on " in line]
    assert [line.partition(" ")[0] for line in like] == ["1", "1", "2"]
