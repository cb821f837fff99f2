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
    assert result.stdout == "Nothing here defines a NIC (3 files looked at)\n"


def test_what_is_broken_or_missing_is_not_passed_over(folder: Path) -> None:
    (folder / "broken.xml").write_text("<domain><name>x")
    for name, why in (("broken.xml", "not well-formed"), ("gone.xml", "No such file")):
        result = vnicaudit("audit", name, "--skip-unrecognised", cwd=folder)
        assert result.returncode == 4
        assert why in result.stdout + result.stderr


def test_only_errors_fail_where_findings_never_do(folder: Path) -> None:
    never = ("audit", "guests", "--level", "never")
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


TWO = """<domain type='kvm'><name>{name}</name><uuid>{uuid}</uuid><vcpu>2</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type></os><devices>
<interface type='bridge'><source bridge='b'/>
<mac address='52:54:00:00:{n}:00'/><model type='e1000'/></interface>
<interface type='bridge'><source bridge='b'/>
<mac address='52:54:00:00:{n}:01'/><model type='rtl8139'/></interface>
</devices></domain>"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    for n, name in enumerate(("mail-01", "web-01"), 1):
        uuid = f"4dea24b3-1d52-d8f3-2516-782e98a23fa{n}"
        (tmp_path / f"{name}.xml").write_text(TWO.format(name=name, uuid=uuid, n=f"0{n}"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "subjects"),
    [
        (("--domain", "mail-01"), {("mail-01", 0), ("mail-01", 1)}),
        (("--domain", "4dea24b3-1d52-d8f3-2516-782e98a23fa2"), {("web-01", 0), ("web-01", 1)}),
        (("--nic", "52:54:00:00:02:01"), {("web-01", 1)}),
        (("--nic", "52:54:00:00:02:01".upper()), {("web-01", 1)}),
        (("--domain", "mail-01", "--nic", "1"), {("mail-01", 1)}),
    ],
)
def test_domain_and_nic_select_the_findings(
    two: Path, words: tuple[str, ...], subjects: set[tuple[str, int]]
) -> None:
    done = vnicaudit("audit", two, "--select", "VNIC002,VNIC001", "--format", "json", *words)
    report = json.loads(done.stdout)
    found = {(one["about"]["name"], one["about"]["index"]) for one in report["findings"]}
    assert (done.returncode, found) == (1, subjects)
    assert report["summary"]["filtered"] == 4 - len(report["findings"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--domain", "mail-02"), "--domain: there is no 'mail-02' in these targets; did you mean"),
        (("--nic", "52:54:00:00:02:09"), "--nic: there is no '52:54:00:00:02:09' in these targets"),
    ],
)
def test_a_domain_or_nic_that_matches_nothing_is_an_error(
    two: Path, words: tuple[str, ...], message: str
) -> None:
    done = vnicaudit("audit", two, *words, "-o", two / "report.json")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (two / "report.json").exists()
