"""``plan -o`` went through a dangling link and kept the owner and mode 0666 of a file that was
there; a lock that was a link made root overwrite what it led to; ``--fix`` left its folder through
links; the settings of another user in a parent folder silenced root's audit, with ``CI`` in its
environment also when that was no more so."""

import os
import stat
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.regressions.hostile_input.strangers import give_away
from vnicaudit.base.files import write_private
from vnicaudit.cli.output.files import ReportOutput
from vnicaudit.errors import UsageError
from vnicaudit.remedy.applying.journal.state import StateFolder

_XML = """\
<domain type='kvm'>
  <name>a</name>
  <vcpu>2</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'>
      <source bridge='br0'/><model type='virtio'/><driver queues='8'/>
    </interface>
  </devices>
</domain>
"""


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    path = tmp_path / "guests" / "a.xml"
    path.parent.mkdir()
    path.write_text(_XML)
    return path


class TestPlan:
    """``plan -o FILE``."""

    def test_a_link_is_replaced_and_not_followed(self, guest: Path, tmp_path: Path) -> None:
        plan, victim = tmp_path / "plan.json", tmp_path / "victim"
        plan.symlink_to(victim)
        assert inside("plan", guest, "-o", plan, "--quiet").returncode == 0
        assert not victim.exists()
        assert not plan.is_symlink()
        assert '"schema": "vnicaudit.plan/' in plan.read_text()

    def test_it_is_for_its_owner_alone_whatever_was_there(
        self, guest: Path, tmp_path: Path
    ) -> None:
        plan = tmp_path / "plan.json"
        plan.touch()
        plan.chmod(0o666)
        if os.geteuid() == 0:
            give_away(plan)
        assert inside("plan", guest, "-o", plan, "--quiet").returncode == 0
        status = plan.stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o600, os.geteuid())

    def test_the_old_one_stays_where_the_new_one_cannot_be_written(
        self, guest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = tmp_path / "plan.json"
        assert inside("plan", guest, "-o", plan, "--quiet").returncode == 0
        before = plan.read_text()

        def full(_self: object, _text: str) -> None:
            raise UsageError("full")

        monkeypatch.setattr(ReportOutput, "write", full)
        assert inside("plan", guest, "-o", plan, "--quiet").returncode == 2
        assert plan.read_text() == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["guests", "plan.json"]


class TestReports:
    """``audit -o FILE`` and its like."""

    def test_a_mode_that_lets_others_write_is_not_kept(self, guest: Path, tmp_path: Path) -> None:
        report = tmp_path / "r.json"
        report.touch()
        report.chmod(0o666)
        inside("audit", guest, "--format", "json", "--output", report)
        assert stat.S_IMODE(report.stat().st_mode) & 0o022 == 0

    def test_a_strangers_link_to_a_device_is_not_written_to(
        self, guest: Path, tmp_path: Path
    ) -> None:
        link = tmp_path / "r.json"
        link.symlink_to("/dev/null")
        if os.geteuid() != 0:
            assert inside("audit", guest, "--output", link).returncode == 1
            return
        give_away(link)
        result = inside("audit", guest, "--output", link)
        assert result.returncode == 2
        assert "a link that belongs to another user" in result.stderr


class TestState:
    """The state folder."""

    def test_no_lock_is_a_link(self, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("precious")
        state = tmp_path / "state"
        (state / "locks").mkdir(parents=True)
        (state / "locks" / "files.lock").symlink_to(victim)
        with pytest.raises(UsageError), StateFolder(str(state)).lock("files", "files"):
            pass
        assert victim.read_text() == "precious"

    def test_no_lock_waits_for_a_pipe(self, tmp_path: Path) -> None:
        (tmp_path / "locks").mkdir()
        os.mkfifo(tmp_path / "locks" / "files.lock")
        tmp_path.chmod(0o700)
        with StateFolder(str(tmp_path)).lock("files", "files"):
            pass  # it was locked, or refused: it did not wait

    def test_what_a_dead_process_left_is_no_way_elsewhere(self, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("precious")
        (tmp_path / "run.json.part").symlink_to(victim)
        write_private(tmp_path / "run.json", b"{}")
        assert victim.read_text() == "precious"
        assert (tmp_path / "run.json").read_bytes() == b"{}"

    @pytest.mark.parametrize("name", [".", "runs", "locks", "bench"])
    @pytest.mark.parametrize("mode", [0o777, 0o702])
    def test_a_folder_that_others_may_write_is_refused(
        self, name: str, mode: int, tmp_path: Path
    ) -> None:
        folder = tmp_path / "state" / name
        folder.mkdir(parents=True)
        folder.chmod(mode)
        for words in (("runs",), ("bench", "show")):
            if words == ("bench", "show") and name in ("runs", "locks"):
                continue
            if words == ("runs",) or name in (".", "bench"):
                result = inside(*words, "--state", tmp_path / "state")
                assert result.returncode == 2, words
                assert "is writable by everyone" in result.stderr

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    @pytest.mark.parametrize("name", [".", "runs", "locks"])
    def test_a_folder_of_another_user_is_refused(self, name: str, tmp_path: Path) -> None:
        folder = tmp_path / "state" / name
        folder.mkdir(parents=True)
        give_away(folder)
        result = inside("runs", "--state", tmp_path / "state")
        assert result.returncode == 2
        assert "belongs to user nobody" in result.stderr

    def test_a_folder_in_it_that_is_a_link_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "runs").symlink_to(tmp_path / "elsewhere")
        result = inside("runs", "--state", tmp_path / "state")
        assert result.returncode == 2
        assert "is not a folder" in result.stderr


class TestFix:
    """``audit --fix``."""

    def test_it_does_not_leave_the_folder_through_a_link(self, guest: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        guest.rename(outside / "a.xml")
        guest.symlink_to(outside / "a.xml")
        (tmp_path / "guests" / "folder").symlink_to(outside)
        result = inside("audit", tmp_path / "guests", "--fix")
        assert (outside / "a.xml").read_text() == _XML
        assert "not fixed: a link that leads out of the target" in result.stderr
        assert str(outside / "a.xml") in result.stderr
        assert result.returncode == 5

    def test_a_diff_does_not_either(self, guest: Path, tmp_path: Path) -> None:
        guest.rename(tmp_path / "b.xml")
        guest.symlink_to(tmp_path / "b.xml")
        assert inside("audit", tmp_path / "guests", "--diff").stdout == ""

    def test_a_link_within_the_folder_is_followed(self, guest: Path, tmp_path: Path) -> None:
        (tmp_path / "guests" / "b.xml").symlink_to(guest)
        inside("audit", tmp_path / "guests" / "b.xml", "--fix")
        assert "queues='2'" in guest.read_text()

    def test_a_link_that_was_named_is_followed(self, guest: Path, tmp_path: Path) -> None:
        (tmp_path / "c.xml").symlink_to(guest)
        inside("audit", tmp_path / "c.xml", "--fix")
        assert "queues='2'" in guest.read_text()


class TestSettings:
    """``vnicaudit.toml`` of a parent folder."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Path:
        path = tmp_path / "vnicaudit.toml"
        path.write_text('[[suppress]]\nrule = "VNIC"\ndomain = "*"\nreason = "quiet"\n')
        return path

    def test_those_that_others_may_write_are_refused(self, guest: Path, settings: Path) -> None:
        settings.chmod(0o666)
        result = inside("audit", "a.xml", cwd=guest.parent)
        assert result.returncode == 2
        assert f"{settings}: not used, for it is writable by everyone" in result.stderr
        settings.chmod(0o644)
        assert inside("audit", "a.xml", cwd=guest.parent).returncode == 0

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
    def test_those_of_another_user_are_refused(self, guest: Path, settings: Path) -> None:
        give_away(settings)
        result = inside("audit", "a.xml", cwd=guest.parent)
        assert result.returncode == 2
        assert "it belongs to user nobody; name it with --config," in result.stderr
        named = inside("audit", "a.xml", "--config", settings, cwd=guest.parent)
        assert named.returncode == 0

    def test_a_variable_of_build_servers_trusts_nobody(self, guest: Path, settings: Path) -> None:
        """It is exported by whoever tries a pipeline at home, too."""
        settings.chmod(0o666)
        result = inside("audit", "a.xml", cwd=guest.parent, env={"CI": "true"})
        assert result.returncode == 2
        assert "or its folder in VNICAUDIT_TRUST_SETTINGS" in result.stderr

    @pytest.mark.parametrize("place", ["", "guests/..", "link"])
    def test_those_of_a_folder_that_is_named_hold(
        self, guest: Path, settings: Path, tmp_path: Path, place: str
    ) -> None:
        (tmp_path / "link").symlink_to(tmp_path)
        settings.chmod(0o666)
        given = str(tmp_path / place)
        env = {"VNICAUDIT_TRUST_SETTINGS": f"/nowhere:{given}"}
        result = inside("audit", "a.xml", "-v", cwd=guest.parent, env=env)
        assert (result.returncode, f"Settings: {settings}" in result.stderr) == (0, True)

    @pytest.mark.parametrize("command", ["audit", "nics", "explain", "plan"])
    def test_no_command_that_reads_takes_them_unasked(
        self, guest: Path, settings: Path, tmp_path: Path, command: str
    ) -> None:
        settings.chmod(0o666)
        words = (command, "a.xml", *(("--nic", "0") if command == "explain" else ()))
        refused = inside(*words, cwd=guest.parent)
        assert (refused.returncode, "not used" in refused.stderr) == (2, True)
        env = {"VNICAUDIT_TRUST_SETTINGS": str(tmp_path)}
        assert inside(*words, cwd=guest.parent, env=env).returncode == 0

    @pytest.mark.parametrize("named", ["guests", "elsewhere", "", ":"])
    def test_those_of_other_folders_are_refused_all_the_same(
        self, guest: Path, settings: Path, tmp_path: Path, named: str
    ) -> None:
        """Beside it, or below it, or none."""
        settings.chmod(0o666)
        given = str(tmp_path / named) if named.strip(":") else named
        env = {"VNICAUDIT_TRUST_SETTINGS": given}
        assert inside("audit", "a.xml", cwd=guest.parent, env=env).returncode == 2
        here = {"VNICAUDIT_TRUST_SETTINGS": f":{guest.parent}:"}
        assert inside("audit", "guests/a.xml", cwd=tmp_path, env=here).returncode == 2

    def test_a_repository_ends_the_search(self, guest: Path, settings: Path) -> None:
        (guest.parent / ".git").mkdir()
        assert settings.exists()
        assert inside("audit", "a.xml", cwd=guest.parent).returncode == 1

    def test_the_home_folder_ends_the_search(self, guest: Path, settings: Path) -> None:
        assert settings.exists()
        home = {"HOME": str(guest.parent)}
        assert inside("audit", "a.xml", cwd=guest.parent, env=home).returncode == 1

    def test_verbose_says_which_file_holds(self, guest: Path, settings: Path) -> None:
        result = inside("audit", "a.xml", "-v", cwd=guest.parent)
        assert f"Settings: {settings}" in result.stderr
