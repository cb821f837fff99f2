"""The pre-commit hooks, run by pre-commit itself from a clone of this project."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docs.pages import ROOT
from tests.not_run import not_run
from tests.pipelines.project import (
    GUEST,
    PLACEHOLDER,
    copy_of_this,
    git,
    guests,
    needs_packages,
    page,
    repository,
    snippets,
)

SUITE = "pre-commit"
HOOKS: list[dict[str, Any]] = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of this project, as it is now. Its environment is made once, for all tests."""
    if importlib.util.find_spec("pre_commit") is None:
        not_run(SUITE, "pre-commit is not installed (pip install pre-commit)")
    needs_packages(SUITE)
    folder = tmp_path_factory.mktemp("vnicaudit")
    copy_of_this(folder)
    repository(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Somebody's repository: two guests, one of them slow, and other files."""
    guests(tmp_path, good="virtio", slow="rtl8139")
    (tmp_path / "site.yaml").write_text("colour: blue\n")
    (tmp_path / "network.xml").write_text("<network><name>n</name></network>\n")
    (tmp_path / "settings.conf").write_text("[a]\nb = 1\n")
    (tmp_path / "README.md").write_text("qemu-system-x86_64 -name x -nic user,model=rtl8139\n")
    (tmp_path / "empty.json").write_text("")
    return tmp_path


def configured(folder: Path, hooks: Path, number: int, monkeypatch: Any, home: Path) -> None:
    """Save a configuration of the how-to as theirs, with the clone in place of the placeholder."""
    config = snippets("pre-commit")[number]
    revision = git(hooks, "rev-parse", "HEAD")
    for entry in config["repos"]:  # type: ignore[attr-defined]
        assert entry["repo"] == PLACEHOLDER
        entry.update(repo=str(hooks), rev=revision)
    with (folder / ".pre-commit-config.yaml").open("w") as file:
        YAML().dump(config, file)
    monkeypatch.setenv("PRE_COMMIT_HOME", str(home))
    repository(folder)


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "COLUMNS": "100"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VNICAUDIT_")}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color=never", *arguments],
        cwd=folder, env={**environment, **own}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_finding_stops_the_commit_and_other_files_do_not(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(theirs, hooks, 0, monkeypatch, home)
    result = pre_commit(theirs, "--all-files")
    assert result.returncode == 1, result.stdout + result.stderr
    assert re.search(r"^vnicaudit\.+Failed$", result.stdout, re.MULTILINE)
    assert "- exit code: 1" in result.stdout
    assert "VNIC001" in result.stdout
    assert "guests/slow.xml:12" in result.stdout
    assert "not recognised" not in result.stdout
    guests(theirs, slow="virtio")
    result = pre_commit(theirs, "--all-files")
    assert re.search(r"^vnicaudit\.+Passed$", result.stdout, re.MULTILINE), result.stdout


def test_only_what_is_committed_is_audited(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(theirs, hooks, 0, monkeypatch, home)
    guests(theirs, new="virtio")
    git(theirs, "add", "-A")
    assert pre_commit(theirs).returncode == 0  # guests/slow.xml is as it was
    guests(theirs, new="e1000")
    git(theirs, "add", "-A")
    result = pre_commit(theirs)
    assert result.returncode == 1
    assert "guests/new.xml" in result.stdout
    assert "guests/slow.xml" not in result.stdout


def test_what_the_settings_exclude_is_not_audited(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs / "vnicaudit.toml").write_text('exclude = ["slow.xml"]\n')
    configured(theirs, hooks, 0, monkeypatch, home)
    result = pre_commit(theirs, "--all-files")
    assert result.returncode == 0, result.stdout


def test_a_file_that_is_broken_stops_the_commit(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs / "guests" / "slow.xml").write_text(GUEST[:-20])
    configured(theirs, hooks, 0, monkeypatch, home)
    result = pre_commit(theirs, "--all-files")
    assert "- exit code: 4" in result.stdout
    assert "not well-formed XML" in result.stdout


def test_the_configuration_with_a_baseline(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The how-to's second configuration, with the baseline that it says how to write."""
    command = next(
        line.removeprefix("$ ")
        for block in page("ci.md")
        for line in block.text.splitlines()
        if "--write-baseline" in line
    )
    script = f'vnicaudit() {{ "{sys.executable}" -m vnicaudit "$@"; }}\n{command}'
    subprocess.run(["bash", "-c", script], cwd=theirs, check=True, capture_output=True)
    configured(theirs, hooks, 1, monkeypatch, home)
    assert pre_commit(theirs, "--all-files").returncode == 0
    guests(theirs, new="rtl8139")
    git(theirs, "add", "-A")
    result = pre_commit(theirs, "--all-files")
    assert result.returncode == 1
    assert "guests/new.xml" in result.stdout
    assert "guests/slow.xml" not in result.stdout


def test_what_is_safe_is_fixed_in_the_working_tree(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(theirs, hooks, 2, monkeypatch, home)
    result = pre_commit(theirs, "--all-files")
    assert result.returncode == 1
    assert "- files were modified by this hook" in result.stdout
    assert git(theirs, "diff", "--name-only") == "guests/slow.xml"
    assert (theirs / "guests" / "slow.xml").read_text() == GUEST.format(name="slow", model="virtio")
    git(theirs, "add", "-A")
    assert pre_commit(theirs, "--all-files").returncode == 0


def options_of(hook: dict[str, Any]) -> list[str]:
    """What stands behind ``audit``."""
    return str(hook["entry"]).partition(" audit ")[2].split()


def test_every_hook_of_the_file_is_a_command_of_the_program() -> None:
    from vnicaudit.cli.audit.audit import command

    known = {option for parameter in command.params for option in parameter.opts}
    for hook in HOOKS:
        *program, name = hook["entry"].partition(" audit ")[0].split()
        assert (program, name) == (["python", "-I", "-m"], "vnicaudit")
        assert {word for word in options_of(hook) if word.startswith("-")} <= known


def test_every_configuration_of_the_page_is_tried() -> None:
    assert len(snippets("pre-commit")) == 3


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("guest.xml", True), ("nova.conf", True), ("nova.conf.j2", True), ("nova.conf.erb", True),
     ("_nova.conf.tpl", True), ("nova.conf.tmpl", True), ("nova.conf.template", True),
     ("a.libvirt", True), ("vm.yaml", True), ("main.tf", True), ("x.pkr.hcl", True),
     ("x.pkr.json", True), ("build.sh", True), ("Dockerfile", True), ("compute.pp", True),
     ("xml", True), ("README.md", False), ("a.py", False), ("a.go", False)],
)  # fmt: skip
def test_files_that_are_looked_at(name: str, wanted: bool) -> None:
    identify = pytest.importorskip("identify.identify")
    for hook in HOOKS:
        assert hook["types"] == ["text"]
        assert "files" not in hook
        assert identify.tags_from_filename(name).isdisjoint(hook["exclude_types"]) is wanted


def test_every_type_that_is_left_out_exists() -> None:
    identify = pytest.importorskip("identify.identify")
    for hook in HOOKS:
        assert set(hook["exclude_types"]) <= identify.ALL_TAGS


def test_a_hook_that_passes_says_what_was_not_judged(
    theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guests(theirs, slow="virtio")
    (theirs / "nova.conf").write_text("[libvirt]\nvirt_type = kvm\nrx_queue_size = {{ rx }}\n")
    (theirs / "deploy.cfg").write_text("nova:\n  use_virtio_for_bridges off\n")
    configured(theirs, hooks, 0, monkeypatch, home)
    result = pre_commit(theirs, "--all-files")
    assert re.search(r"^vnicaudit\.+Passed$", result.stdout, re.MULTILINE), result.stdout
    assert "VNIC035 was not judged for 1 file" in result.stdout
    assert "deploy.cfg:2: names Nova's NIC options" in result.stdout


@pytest.mark.parametrize("name", ["nova.conf.erb", "_nova.conf.tpl"])
def test_a_template_of_nova_conf_with_an_error_stops_the_commit(
    name: str, theirs: Path, hooks: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guests(theirs, slow="virtio")
    text = "[DEFAULT]\n# <%= @note %>{{ .note }}\n[libvirt]\nuse_virtio_for_bridges = false\n"
    (theirs / name).write_text(text)
    configured(theirs, hooks, 0, monkeypatch, home)
    result = pre_commit(theirs, "--all-files")
    assert result.returncode == 1, result.stdout
    assert f"{name}:4:26" in result.stdout
