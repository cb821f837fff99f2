"""``vnicaudit plan``, as a user runs it."""

import json
import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.definitions import E1000
from tests.remedy.planning.planned import (
    CENTOS_7,
    KUBEVIRT,
    MAC,
    NOVA,
    SECOND,
    definition,
    interface,
)
from tests.remedy.planning.units import file_of
from tests.rows import rows
from vnicaudit.cli.main import run
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.remedy.plan_output import print_plan, write_owner_files
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import OwnerFile
from vnicaudit.reports.plan import from_json


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with a definition in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "a.xml").write_text(E1000)
    return tmp_path


Capture = pytest.CaptureFixture[str]


def test_without_output_it_is_only_shown(here: Path, capsys: Capture) -> None:
    assert run(["plan", "a.xml"]) == 0
    shown = capsys.readouterr()
    assert re.search(
        r"^  GUEST +NIC +CHANGE +RISK +INTERFACE NAME +TAKES EFFECT\n"
        r"  a +0 +e1000 → virtio +safe +ens3 stays +after virsh define$",
        shown.out,
        re.MULTILINE,
    )
    assert shown.out.endswith(
        "\n1 step on 1 guest: 1 safe\nNothing has been changed. To see each step in full, "
        "use --diff. To write it for `vnicaudit apply`:\n  -o plan.json.\n"
    )
    assert shown.err == ""
    assert os.listdir(here) == ["a.xml"]


def test_each_step_in_full(here: Path, capsys: Capture) -> None:
    assert run(["plan", "a.xml", "--diff"]) == 0
    shown = capsys.readouterr()
    words = " ".join(shown.out.split())  # where it is wrapped depends on the folder's name
    assert f"a.xml a libvirt {here}/a.xml readiness: ready safe 1 NIC 0 {MAC}" in words
    assert shown.out.endswith(
        "\n1 step on 1 guest: 1 safe\n"
        "Nothing has been changed. To write it for `vnicaudit apply`: -o plan.json.\n"
    )


def test_a_plan_is_written_and_says_what_is_next(here: Path, capsys: Capture) -> None:
    assert run(["plan", "a.xml", "-o", "plan.json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "Written to plan.json; next: vnicaudit apply plan.json\n"
    plan = from_json((here / "plan.json").read_bytes(), "plan.json")
    assert [file_of(step).path for step in plan.steps] == [str(here / "a.xml")]
    assert (here / "a.xml").read_text() == E1000


def test_the_next_command_includes_unsafe_steps_where_there_are_no_others(
    here: Path, capsys: Capture
) -> None:
    (here / "unsafe.xml").write_text(definition(interface("e1000"), os=CENTOS_7, name="b"))
    arguments = ["plan", "unsafe.xml", "--include-unsafe", "-o", "plan.json"]
    assert run(arguments) == 0
    assert capsys.readouterr().err == (
        "Written to plan.json; next: vnicaudit apply plan.json --include-unsafe\n"
    )
    (here / "a.xml").write_text(E1000.replace("6f4d", "7f4d"))
    assert run([*arguments, "a.xml"]) == 0  # one of its steps is safe
    assert capsys.readouterr().err.endswith("next: vnicaudit apply plan.json\n")


def test_the_next_command_trusts_a_host_whose_address_the_user_gave(
    here: Path, capsys: Capture
) -> None:
    assert run(["plan", "a.xml", "-o", "plan.json"]) == 0
    plan = from_json((here / "plan.json").read_bytes(), "plan.json")
    output = OutputOptions(quiet=False, verbose=False, color="never")
    capsys.readouterr()
    for target, trust in [
        ("ssh://root@h", ""),
        ("ssh://root@h?known_hosts=/k", " --trust-uri all"),
        (str(here / "a.xml"), ""),
    ]:
        steps = tuple(replace(step, target=target) for step in plan.steps)
        print_plan(replace(plan, steps=steps), "p.json", None, output, "vnicaudit apply {}".format)
        assert capsys.readouterr().err == (
            f"Written to p.json; next: vnicaudit apply p.json{trust}\n"
        )


def test_what_owners_are_given_is_written_and_never_overwrites_another_text(
    here: Path, capsys: Capture
) -> None:
    assert run(["plan", "a.xml", "-o", "plan.json"]) == 0
    plan = from_json((here / "plan.json").read_bytes(), "plan.json")
    files = (OwnerFile("tuned-eth0.conf", "[main]\n"), OwnerFile("../ns/.vm é.yaml", "a: b\n"))
    (step,) = plan.steps
    given = replace(plan, steps=(replace(step, target="ssh://root@kvm1", files=files),))
    written = [Path("out/ssh-root-kvm1", one) for one in ("tuned-eth0.conf", "unnamed/ns/vm-.yaml")]
    capsys.readouterr()
    for _again in range(2):  # what is there already is the same
        write_owner_files(given, "out")
        assert capsys.readouterr().err == "2 files for the owners in out: review them\n"
        found = sorted(path for path in Path("out").rglob("*") if path.is_file())
        assert found == written
        assert [path.read_text() for path in written] == ["[main]\n", "a: b\n"]
    for there in ("[main]\nmine\n", ""):
        written[0].write_text(there)
        written[1].unlink(missing_ok=True)
        with pytest.raises(UsageError, match=r"out/ssh-root-kvm1/tuned-eth0.conf has another text"):
            write_owner_files(given, "out")
        assert (written[0].read_text(), written[1].exists()) == (there, False)
    Path("taken").mkdir()
    Path("taken/ssh-root-kvm1").touch()
    with pytest.raises(UsageError, match=r"taken/ssh-root-kvm1/tuned-eth0.conf: File exists"):
        write_owner_files(given, "taken")
    write_owner_files(plan, "none")
    assert capsys.readouterr().err == "No file was written: no step has one for an owner\n"
    assert run(["plan", "a.xml", "--patches", "none"]) == 0
    assert capsys.readouterr().err == "No file was written: no step has one for an owner\n"
    assert not Path("none").exists()


def test_a_plan_of_blocked_steps_alone_names_no_command_to_apply_it(
    here: Path, capsys: Capture
) -> None:
    (here / "b.xml").write_text(definition(interface("e1000"), metadata=NOVA, name="b"))
    assert run(["plan", "b.xml", "-o", "b.json"]) == 0
    assert capsys.readouterr().err == (
        "Written to b.json: every step is blocked; remove the causes above, and plan again\n"
    )


def test_targets_that_could_not_be_read_are_not_nothing_to_change(
    here: Path, capsys: Capture
) -> None:
    (here / "healthy.xml").write_text(E1000.replace("e1000", "virtio"))
    (here / "torn.xml").write_text(E1000[:-20])
    for targets, last in (
        (["no.xml"], "Nothing could be planned: 1 of 1 target could not be read"),
        (["no.xml", "torn.xml"], "Nothing could be planned: 2 of 2 targets could not be read"),
        (["no.xml", "healthy.xml"], "Nothing to change; 1 error while reading"),
    ):
        assert run(["plan", *targets]) == 4
        assert capsys.readouterr().out.endswith(f"\n{last}\n")


def test_torn_files_of_a_folder_are_told_and_others_passed_over(
    here: Path, capsys: Capture
) -> None:
    (here / "b.xml").write_text(E1000[:-20])
    (here / "notes.txt").write_text("See the wiki.\n")
    assert run(["plan", "."]) == 4
    shown = capsys.readouterr().out
    assert "Could not be read\n  b.xml:" in shown
    assert "notes.txt" not in shown
    assert "\n1 step on 1 guest: 1 safe; 1 error while reading\n" in shown


def test_quiet_leaves_the_last_lines_away(capsys: Capture) -> None:
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert "1 step on" not in shown.out
    assert shown.err == ""


def test_standard_output_is_the_plan_and_nothing_else(here: Path, capsys: Capture) -> None:
    assert run(["plan", "a.xml", "-o", "-"]) == 0
    shown = capsys.readouterr()
    assert len(from_json(shown.out.encode(), "-").steps) == 1
    assert shown.err == ""
    assert os.listdir(here) == ["a.xml"]


def test_verbose_shows_what_goes_into_the_guest(capsys: Capture) -> None:
    run(["plan", "a.xml", "--diff"])
    assert "a snippet that pins the name (systemd-link): --verbose\n" in capsys.readouterr().out
    run(["plan", "a.xml", "--verbose"])
    shown = capsys.readouterr().out
    assert "pins the name: systemd-link, /etc/systemd/network/10-vnicaudit-ens3.link\n" in shown
    assert f"        MACAddress={MAC}\n" in shown
    assert "digest: sha256:" in shown


def test_an_earlier_plan_is_replaced(here: Path) -> None:
    run(["plan", "a.xml", "-o", "plan.json"])
    (here / "a.xml").write_text(definition(interface("virtio")))
    assert run(["plan", "a.xml", "-o", "plan.json"]) == 0
    assert from_json((here / "plan.json").read_bytes(), "").steps == ()


def test_an_empty_file_is_filled(here: Path) -> None:
    """mktemp makes one."""
    (here / "plan.json").touch()
    assert run(["plan", "a.xml", "-o", "plan.json"]) == 0
    assert (here / "plan.json").stat().st_size


@pytest.mark.parametrize("content", [E1000, '{"schema": "vnicaudit.report/1"}', " "])
def test_a_file_that_is_no_plan_is_not_written_over(
    here: Path, capsys: Capture, content: str
) -> None:
    """A definition above all: ``plan a.xml -o a.xml``."""
    path = here / "other"
    path.write_text(content)
    assert run(["plan", "a.xml", "-o", "other"]) == 2
    assert capsys.readouterr().err == (
        "Error: other exists and is not a plan: choose another name\n"
    )
    assert path.read_text() == content


def test_a_plan_of_another_version_is_replaced(here: Path) -> None:
    (here / "plan.json").write_text('{\n  "schema": "vnicaudit.plan/9",\n')
    assert run(["plan", "a.xml", "-o", "plan.json"]) == 0


def test_where_it_cannot_be_written(capsys: Capture) -> None:
    assert run(["plan", "a.xml", "-o", "no/where.json"]) == 2
    assert capsys.readouterr().err == "Error: no/where.json: No such file or directory\n"


def test_nothing_to_change_is_no_failure(here: Path, capsys: Capture) -> None:
    (here / "a.xml").write_text(definition(interface("virtio")))
    assert run(["plan", "a.xml"]) == 0
    assert capsys.readouterr().out == "Nothing to change\n"


def test_what_cannot_be_read_is_said_and_the_rest_is_planned(here: Path, capsys: Capture) -> None:
    assert run(["plan", "b.xml", "a.xml", "-o", "plan.json"]) == 4
    shown = capsys.readouterr().out
    assert "Could not be read\n  b.xml: No such file or directory\n" in shown
    assert "\n1 step on 1 guest: 1 safe; 1 error while reading\n" in shown
    plan = from_json((here / "plan.json").read_bytes(), "")
    assert (len(plan.steps), plan.errors) == (1, ("b.xml: No such file or directory",))


@rows
def test_what_makes_no_sense_is_said_and_nothing_is_written(
    here: Path, capsys: Capture, arguments: list[str], says: str
) -> None:
    assert run(["plan", *arguments, "-o", "plan.json"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"Error: {says}\n")
    assert os.listdir(here) == ["a.xml"]


def test_a_nova_conf_is_no_target(here: Path, capsys: Capture) -> None:
    (here / "nova.conf").write_text("[libvirt]\nuse_virtio_for_bridges = False\n")
    assert run(["plan", "nova.conf"]) == 2
    assert capsys.readouterr().err == (
        "Error: nova.conf: it has no domain whose NICs could be changed; `vnicaudit audit` "
        "shows what is wrong with it, and --fix corrects a configuration\n"
    )


def test_the_mac_in_any_case(capsys: Capture, here: Path) -> None:
    (here / "a.xml").write_text(definition(interface("e1000", mac="52:54:00:AA:BB:CC")))
    assert run(["plan", "a.xml", "--diff", "--nic", "52:54:00:aA:bb:CC"]) == 0
    assert "52:54:00:aa:bb:cc" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ((), ["VNIC001", "VNIC002"]),
        (("--select", "VNIC002"), ["VNIC002"]),
        (("--select", "VNIC001,VNIC002"), ["VNIC001", "VNIC002"]),
        (("--ignore", "VNIC002"), ["VNIC001"]),
        (("--ignore", "VNIC001", "--ignore", "VNIC002"), []),
    ],
)
def test_select_and_ignore(here: Path, options: tuple[str, ...], rules: list[str]) -> None:
    (here / "a.xml").write_text(definition(interface("rtl8139"), interface("e1000", 2)))
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet", *options]) == 0
    plan = json.loads((here / "plan.json").read_text())
    assert [rule for step in plan["steps"] for rule in step["rules"]] == rules


def test_what_the_settings_accept_is_not_planned(here: Path, capsys: Capture) -> None:
    (here / "vnicaudit.toml").write_text(
        '[[suppress]]\nrule = "VNIC002"\ndomain = "a"\nreason = "appliance"\n'
    )
    (here / "b.xml").write_text(E1000.replace("<name>a<", "<name>b<"))
    assert run(["plan", "a.xml"]) == 0
    assert capsys.readouterr().out == "Nothing to change\n"
    run(["plan", "b.xml", "--diff"])
    assert "VNIC002" in capsys.readouterr().out


def test_the_policy_of_the_settings(here: Path, capsys: Capture) -> None:
    (here / "vnicaudit.toml").write_text("[policy]\nqueues = 8\nrx-queue-size = 512\n")
    assert run(["plan", "a.xml", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert "VNIC002, policy\n" in shown
    assert "change: queues not set → 4 (safe: the policy asks for it; " in " ".join(shown.split())
    assert "change: rx_queue_size not set → 512 (safe: the policy asks for it" in shown
    assert "note: 4 instead of 8 queue pairs: the guest has 4 vCPUs\n" in shown


def test_what_is_left_is_counted_by_reason_and_named_on_demand(here: Path, capsys: Capture) -> None:
    (here / "a.xml").write_text(definition(interface("e1000"), interface("e1000", 2), os=None))
    assert run(["plan", "a.xml"]) == 0
    shown = capsys.readouterr().out
    assert "Left out (--verbose names each)\n  2 NICs: unsafe: the guest may have" in shown
    assert shown.endswith("Nothing to change; 2 NICs left out\n")
    run(["plan", "a.xml", "--verbose"])
    assert f"    a  NIC 1 {SECOND}  VNIC002  a.xml:1\n" in capsys.readouterr().out


def test_an_owners_step_has_a_procedure_and_no_diff(here: Path, capsys: Capture) -> None:
    for owner, word in ((NOVA, "nova-manage image_property set"), (KUBEVIRT, "virtctl restart")):
        (here / "a.xml").write_text(definition(interface("e1000"), metadata=owner))
        assert run(["plan", "a.xml", "--diff"]) == 0
        shown = capsys.readouterr().out
        assert word in shown
        assert "---" not in shown
        assert "guest sees" not in shown
        assert "1 step on 1 guest: 1 for the owner to do\n" in shown


def test_a_name_that_is_no_text_is_planned_and_cannot_be_named(here: Path, capsys: Capture) -> None:
    """A byte that is not UTF-8 has no form in JSON."""
    path = os.fsencode(here) + b"/\xff.xml"
    with open(path, "wb") as stream:
        stream.write(E1000.encode())
    assert run(["plan", os.fsdecode(path), "-o", "plan.json", "--diff"]) == 0
    assert "\\xff.xml" in capsys.readouterr().out
    assert run(["apply", "plan.json", "--dry-run", "--quiet", "--state", "state"]) == 5
    assert capsys.readouterr().out.startswith("a: ")
