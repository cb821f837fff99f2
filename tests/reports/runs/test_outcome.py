"""How a run went, when it has ended."""

from msgspec.structs import replace

from tests.reports.runs.samples import APPLY, BACK, MAIL
from vnicaudit.model.runs import RunRecord
from vnicaudit.reports.runs import render_outcome
from vnicaudit.reports.writers import Options

WHOLE = """\
  applied      mail-01  52:54:00:12:34:56, 52:54:00:12:34:57  down for 6.2 s  qemu:///system
    unknown  address: no lease and no ARP entry: a guest agent would show it
  rolled-back  db-01  52:54:00:00:00:07  down for 131.0 s  qemu:///system
    the guest did not come back within 120 s; its definition is what it was
    failed   agent: does not answer
  refused      web-01  qemu+ssh://kvm2/system
    the definition is another one than when it was planned

Run 20261121-101500-3f2a: 3 guests: 1 applied, 1 refused, 1 rolled-back
"""


def shown(run: RunRecord, options: Options = Options(width=100)) -> str:  # noqa: B008
    return "".join(render_outcome(run, options))


def test_a_line_each_and_what_is_not_well() -> None:
    assert shown(APPLY) == WHOLE


def test_verbose_shows_every_check() -> None:
    assert "ok       link\n" in shown(APPLY, Options(width=100, verbose=True))


def test_what_several_have_in_common_is_said_once() -> None:
    units = tuple(replace(MAIL, name=f"vm-{n}", message="load it", checks=()) for n in range(3))
    text = shown(replace(APPLY, steps=units, targets=("qemu:///system",)))
    assert text.count("load it") == 1
    assert "\n  3 guests: load it\n" in text


def test_settings_are_not_called_guests() -> None:
    setting = replace(MAIL, kind="setting", message="until the next boot", checks=())
    units = (setting, replace(setting, name="eth1"))
    assert "\n  2 settings: until" in shown(replace(APPLY, steps=units, targets=(MAIL.target,)))


def test_a_way_back_undoes() -> None:
    assert shown(BACK).startswith("  undone       mail-01")


def test_quiet_has_no_totals() -> None:
    assert "Run " not in shown(APPLY, Options(quiet=True))


def test_units_of_one_name_come_with_their_ids() -> None:
    uuids = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
    units = tuple(replace(MAIL, uuid=uuid, checks=()) for uuid in uuids)
    text = shown(replace(APPLY, steps=(*units, replace(MAIL, name="other", uuid="u-3"))))
    assert all(text.count(uuid) == 1 for uuid in uuids)
    assert "u-3" not in text
