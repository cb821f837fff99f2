"""Which files an audit reads, and what findings make of its exit code."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.audit.reading.test_changed import OWN
from tests.cli.inside import inside as vnicaudit
from tests.cli.test_exit_codes import DOMAIN


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """guests/old.xml and guests/vendor/theirs.xml, each with a finding, and notes.md."""
    for name in ("guests/old.xml", "guests/vendor/theirs.xml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(DOMAIN.format(name=path.stem, model="rtl8139"))
    (tmp_path / "notes.md").write_text("# Notes\n")
    return tmp_path


def found(folder: Path, *arguments: str | Path) -> list[str]:
    """The files with findings."""
    result = vnicaudit("audit", *arguments, "--format", "json", cwd=folder)
    assert result.stderr == ""
    findings = json.loads(result.stdout)["findings"]
    return sorted({finding["location"]["file"] for finding in findings})


def test_excluded_on_the_command_line_and_in_the_settings(folder: Path) -> None:
    assert found(folder, ".") == ["guests/old.xml", "guests/vendor/theirs.xml"]
    assert found(folder, ".", "--exclude", "vendor") == ["guests/old.xml"]
    (folder / "vnicaudit.toml").write_text('exclude = ["guests/vendor"]\n')
    assert found(folder, ".") == ["guests/old.xml"]
    assert found(folder / "guests", ".") == ["old.xml"]
    assert found(folder, ".", "--exclude", "old.xml") == []


def test_the_same_files_for_nics(folder: Path) -> None:
    (folder / "vnicaudit.toml").write_text('exclude = ["vendor"]\n')
    nics = json.loads(vnicaudit("nics", ".", "--format", "json", cwd=folder).stdout)["nics"]
    assert [nic["domain"] for nic in nics] == ["old"]
    assert vnicaudit("nics", ".", "--exclude", "*.xml", cwd=folder).returncode == 0


def test_reports_that_are_being_written_are_not_read(folder: Path) -> None:
    given = ("--format", "text", "--format", "sarif", "-o", "-", "-o", "vnic.sarif")
    result = vnicaudit("audit", ".", "--quiet", *given, cwd=folder)
    assert result.returncode == 1
    assert "could not be read" not in result.stdout
    results = json.loads((folder / "vnic.sarif").read_text())["runs"][0]["results"]
    # the two guests of the folder share an address, which is told as well
    assert sorted(one["ruleId"] for one in results) == ["VNIC001"] * 2 + ["VNIC016"] * 2


def test_a_named_file_is_read_although_excluded(folder: Path) -> None:
    theirs = "guests/vendor/theirs.xml"
    assert found(folder, theirs, "--exclude", "vendor") == [theirs]
    assert found(folder, theirs, "--exclude", "vendor", "--force-exclude") == []


def test_what_is_not_recognised_can_be_passed_over(folder: Path) -> None:
    (folder / "empty.xml").write_text("")
    (folder / "network.xml").write_text("<network><name>n</name></network>")
    named = ("notes.md", "empty.xml", "network.xml")
    assert vnicaudit("audit", *named, cwd=folder).returncode == 4
    result = vnicaudit("audit", *named, "--skip-unrecognised", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "There was nothing to judge\n"


def test_what_is_broken_or_missing_is_not_passed_over(folder: Path) -> None:
    (folder / "broken.xml").write_text("<domain><name>x")
    for name, why in (("broken.xml", "not well-formed"), ("gone.xml", "No such file")):
        result = vnicaudit("audit", name, "--skip-unrecognised", cwd=folder)
        assert result.returncode == 4
        assert why in result.stdout + result.stderr


def test_only_errors_fail_where_findings_never_do(folder: Path) -> None:
    never = ("audit", "guests", "--fail-on", "never")
    assert vnicaudit(*never, cwd=folder).returncode == 0
    assert vnicaudit(*never, "gone.xml", cwd=folder).returncode == 4
    assert vnicaudit(*never, "--select", "X", cwd=folder).returncode == 2


def git(folder: Path, *arguments: str) -> None:
    own = {**OWN, "HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run(["git", *arguments], cwd=folder, env=own, check=True)


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "m")
    return folder


class TestChangedSince:
    def test_only_what_differs_and_only_in_the_targets(self, repository: Path) -> None:
        assert found(repository, "guests", "--changed-since", "HEAD") == []
        for name in ("guests/new.xml", "elsewhere.xml"):
            (repository / name).write_text(DOMAIN.format(name="new", model="rtl8139"))
        assert found(repository, "guests", "--changed-since", "HEAD") == ["guests/new.xml"]
        assert found(repository / "guests", ".", "--changed-since", "HEAD") == ["new.xml"]
        named = ("guests/old.xml", "guests/new.xml")
        assert found(repository, *named, "--changed-since", "HEAD") == ["guests/new.xml"]

    def test_a_missing_target_is_said_so(self, repository: Path) -> None:
        result = vnicaudit("audit", "gone.xml", "--changed-since", "HEAD", cwd=repository)
        assert result.returncode == 4

    @pytest.mark.parametrize("target", ["-", "qemu:///system", "/etc/hosts", ".."])
    def test_a_target_git_does_not_keep(self, repository: Path, target: str) -> None:
        result = vnicaudit("audit", target, "--changed-since", "HEAD", cwd=repository)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == (
            f"Error: --changed-since: {target} is not in the Git repository {repository}\n"
        )

    def test_a_baseline_of_it_would_not_be_whole(self, repository: Path) -> None:
        given = ("guests", "--changed-since", "HEAD", "--write-baseline", "b.json")
        result = vnicaudit("audit", *given, cwd=repository)
        assert (result.returncode, result.stderr) == (
            2, "Error: --write-baseline with --changed-since would forget all unchanged files\n",
        )  # fmt: skip
        assert not (repository / "b.json").exists()

    def test_no_such_revision(self, repository: Path) -> None:
        result = vnicaudit("audit", "guests", "--changed-since=--output=x", cwd=repository)
        assert (result.returncode, result.stderr) == (
            2, f"Error: --changed-since: '--output=x' is not a commit in {repository}\n",
        )  # fmt: skip

    def test_no_repository(self, folder: Path) -> None:
        result = vnicaudit("audit", "guests", "--changed-since", "HEAD", cwd=folder)
        assert result.returncode == 2
        assert result.stderr.startswith("Error: --changed-since: git: ")
