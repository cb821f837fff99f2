"""``--changed-since`` against real repositories."""

import os
import subprocess
from pathlib import Path

import pytest

from vnicaudit.audit.reading.selection import changed_since
from vnicaudit.errors import UsageError

OWN = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One commit, tagged ``start``: a.xml, sub/b.xml, sub/c.xml."""
    top = tmp_path / "repository"
    top.mkdir()
    monkeypatch.chdir(top)
    git("init", "-q", "-b", "main")
    write("a.xml", "sub/b.xml", "sub/c.xml")
    commit()
    git("tag", "start")
    return top


def git(*arguments: str | Path, cwd: Path | None = None) -> str:
    result = subprocess.run(
        ["git", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def write(*names: str, text: str = "x") -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def commit() -> None:
    git("add", "-A")
    git("commit", "-q", "-m", "m")


def changed(revision: str = "start", folder: str = ".") -> list[str]:
    """Names of the regular files that count as changed, as seen from the repository's top."""
    found = changed_since(revision, folder)
    files = (os.path.join(at, name) for at, _, names in os.walk(found.top) for name in names)
    below = (os.path.relpath(file, found.top) for file in files if found.has(file))
    return sorted(name for name in below if ".git" not in name.split("/"))


@pytest.mark.usefixtures("repository")
class TestWhatCounts:
    def test_nothing(self) -> None:
        assert changed() == []

    def test_committed_staged_in_the_working_tree_and_untracked(self) -> None:
        write("a.xml", text="committed")
        commit()
        write("sub/b.xml", text="staged")
        git("add", "-A")
        write("sub/c.xml", text="neither")
        write("new.xml")
        assert changed() == ["a.xml", "new.xml", "sub/b.xml", "sub/c.xml"]
        assert changed("HEAD") == ["new.xml", "sub/b.xml", "sub/c.xml"]

    def test_not_what_is_ignored_or_gone(self) -> None:
        write(".gitignore", text="*.log\n")
        write("qemu.log")
        Path("a.xml").unlink()
        git("rm", "-q", "sub/b.xml")
        found = changed_since("start")
        assert found.files == {os.path.realpath(".gitignore")}

    def test_a_renamed_file_and_one_that_only_became_executable(self) -> None:
        git("mv", "a.xml", "z.xml")
        Path("sub/b.xml").chmod(0o755)
        assert changed() == ["sub/b.xml", "z.xml"]

    def test_not_what_the_other_branch_got_since(self) -> None:
        git("checkout", "-q", "-b", "feature")
        write("sub/b.xml", text="ours")
        commit()
        git("checkout", "-q", "main")
        write("a.xml", text="theirs")
        commit()
        git("checkout", "-q", "feature")
        assert changed("main") == ["sub/b.xml"]

    def test_names_with_a_line_break_a_blank_utf8_and_no_text_at_all(self) -> None:
        names = ["two\nlines.xml", "a blank.xml", "größe.xml", '"q".xml', os.fsdecode(b"\xff.xml")]
        write(*names)
        assert changed() == sorted(names)
        commit()
        assert changed() == sorted(names)

    def test_a_conflict(self) -> None:
        git("checkout", "-q", "-b", "feature")
        write("a.xml", text="ours")
        commit()
        git("checkout", "-q", "main")
        write("a.xml", text="theirs")
        commit()
        subprocess.run(["git", "merge", "-q", "feature"], capture_output=True, check=False)
        assert changed("main") == ["a.xml"]

    def test_from_a_folder_below(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write("a.xml", "sub/b.xml", "sub/new.xml", text="y")
        monkeypatch.chdir("sub")
        assert changed() == ["a.xml", "sub/b.xml", "sub/new.xml"]

    def test_whatever_git_is_set_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        git("config", "diff.relative", "true")
        git("config", "diff.noprefix", "true")
        git("config", "diff.external", "false")
        git("config", "core.quotePath", "true")
        git("config", "core.fsmonitor", "touch fsmonitor-ran #")
        git("config", "status.showUntrackedFiles", "no")
        write("ä.xml", "a.xml", text="y")
        monkeypatch.chdir("sub")
        assert changed() == ["a.xml", "ä.xml"]

    def test_through_a_link(self, repository: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(repository)
        Path("alias.xml").symlink_to("a.xml")
        commit()
        git("tag", "linked")
        write("a.xml", text="y")
        found = changed_since("linked", str(tmp_path / "link"))
        assert found.has(str(tmp_path / "link" / "a.xml"))
        assert found.has("alias.xml")
        assert not found.has(str(tmp_path / "link" / "sub/b.xml"))

    def test_a_link_that_now_leads_elsewhere(self) -> None:
        Path("alias.xml").symlink_to("a.xml")
        Path("folder").symlink_to("sub")
        assert changed_since("start").has("alias.xml")
        assert changed_since("start").has("folder/b.xml")
        commit()
        assert not changed_since("HEAD").has("alias.xml")

    def test_everything_in_a_repository_inside(self) -> None:
        git("init", "-q", "inner")
        write("inner/x.xml")
        assert changed() == ["inner/x.xml"]

    def test_not_a_file_that_was_only_written_again(self) -> None:
        os.utime("a.xml", (1, 1))
        assert changed() == []


def refusal(revision: str = "start", folder: str = ".") -> str:
    with pytest.raises(UsageError) as raised:
        changed_since(revision, folder)
    return str(raised.value)


@pytest.mark.parametrize(
    "revision",
    ["none", "", "--output=x", "-h", "--", "--all", "start..HEAD", "^start", "HEAD:a.xml", "a\0b",
     "$(touch x)", "; touch x", "HEAD^{tree}", "@{u}", "größe", os.fsdecode(b"\xff")],
)  # fmt: skip
def test_a_revision_that_is_none(repository: Path, revision: str) -> None:
    assert refusal(revision) == f"--changed-since: {revision!r} is not a commit in {repository}"
    assert sorted(path.name for path in repository.iterdir()) == [".git", "a.xml", "sub"]


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("revision", ["HEAD", "main", "start", "@", "HEAD~0", ":/m", "main@{0}"])
def test_a_revision_however_it_is_spelled(revision: str) -> None:
    assert changed(revision) == []


def test_no_repository(tmp_path: Path) -> None:
    assert refusal(folder=str(tmp_path)).startswith("--changed-since: git: not a git repository")


def test_a_bare_repository(tmp_path: Path) -> None:
    git("init", "-q", "--bare", tmp_path)
    assert refusal(folder=str(tmp_path)) == (
        "--changed-since: git: this operation must be run in a work tree"
    )


def test_no_commit_yet(tmp_path: Path) -> None:
    git("init", "-q", tmp_path)
    assert (
        refusal("HEAD", str(tmp_path)) == f"--changed-since: 'HEAD' is not a commit in {tmp_path}"
    )


def test_no_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert refusal() == "--changed-since needs git: No such file or directory"


@pytest.mark.usefixtures("repository")
def test_nothing_in_common() -> None:
    git("checkout", "-q", "--orphan", "other")
    write("a.xml", text="y")
    commit()
    assert refusal() == "--changed-since: 'start' and HEAD have no commit in common"


def test_a_shallow_clone(repository: Path, tmp_path: Path) -> None:
    write("a.xml", text="y")
    commit()
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth", "1", repository.as_uri(), clone)
    assert refusal("start", str(clone)) == (
        f"--changed-since: 'start' is not a commit in {clone}; this is a shallow clone: "
        "fetch its whole history (git fetch --unshallow)"
    )


@pytest.mark.usefixtures("repository")
def test_what_is_outside_is_not_covered(tmp_path: Path) -> None:
    found = changed_since("start")
    assert found.covers(".")
    assert found.covers("sub/none.xml")
    assert not found.covers(str(tmp_path))
    assert not found.covers("../repository-2")
