"""What is offered for a word, and where the script of a shell is put."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tests.cli.inside import inside
from vnicaudit.cli.main import cli


def offered(*words: str) -> dict[str, str]:
    """Words that are offered for the last one, with what they are; files are not listed."""
    *before, last = words
    shell = ShellComplete(cli, dict(cli.context_settings), "vnicaudit", "_VNICAUDIT_COMPLETE")
    items = shell.get_completions(list(before), last)
    return {one.value: one.help or "" for one in items if one.type == "plain"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing is configured, and the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR", "OS_CLIENT_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "state"))
    return tmp_path


def test_targets_without_a_word(home: Path) -> None:
    del home
    assert list(offered("audit", "")) == ["/proc", "qemu:///system"]


def test_clouds_of_the_first_file(home: Path) -> None:
    folder = home / ".config/openstack"
    folder.mkdir(parents=True)
    (folder / "clouds.yaml").write_text("clouds: {prod: {}, 'two words': {}, '$(id)': {}}\n")
    assert list(offered("nics", "openstack:")) == ["openstack:prod"]
    (home / "clouds.yaml").write_text("clouds: {lab: {}}\n")
    assert offered("nics", "openstack:") == {"openstack:lab": "a cloud of clouds.yaml"}


@pytest.mark.parametrize("text", ["", "clouds: 3", "[", "clouds: [a]", "\0", "clouds: {1: {}}: x"])
def test_a_file_of_another_form_has_no_clouds(home: Path, text: str) -> None:
    (home / "clouds.yaml").write_text(text)
    assert list(offered("nics", "o")) == []


def test_rules_with_their_summaries() -> None:
    found = offered("audit", "x", "--select", "VNIC030,vnic001")
    assert list(found) == ["VNIC030,VNIC001"]
    assert found["VNIC030,VNIC001"].startswith("Legacy emulated NIC")
    assert "nova" in offered("rules", "n")


def test_releases() -> None:
    assert list(offered("audit", "x", "--nova-release", "carac")) == ["Caracal"]


PLACES = {
    "bash": ".local/share/bash-completion/completions/vnicaudit",
    "zsh": ".zfunc/_vnicaudit",
    "fish": ".config/fish/completions/vnicaudit.fish",
}


@pytest.mark.parametrize("shell", PLACES)
def test_install_writes_one_file(home: Path, shell: str) -> None:
    done = inside("completion", "install", env={"SHELL": f"/usr/bin/{shell}"})
    place = home / PLACES[shell]
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"Wrote {place}")
    assert [one for one in home.rglob("*") if one.is_file()] == [place]
    assert place.read_text() == inside("completion", shell).stdout


def test_a_shell_that_is_not_supported(home: Path) -> None:
    done = inside("completion", "install", env={"SHELL": "/bin/tcsh"})
    assert done.returncode == 2
    assert "add --shell bash|zsh|fish" in done.stderr
    assert list(home.iterdir()) == []


def test_a_place_that_cannot_be_written(home: Path) -> None:
    (home / ".zfunc").touch()
    done = inside("completion", "install", "--shell", "zsh")
    assert done.returncode == 2
    assert str(home / ".zfunc") in done.stderr
