"""A FIFO that nobody writes to held the program for ever where settings, a baseline, a profile or a
measurement was named; so did a number of 5,000 digits end it with an internal error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vnicaudit.cli.main import run

Capture = pytest.CaptureFixture[str]

GUEST = "<domain type='kvm'><name>a</name><devices/></domain>"
COMMANDS = {
    "settings": ["audit", "a.xml", "--config", "fifo"],
    "baseline": ["audit", "a.xml", "--baseline", "fifo"],
    "profile": ["bench", "profiles", "fifo.toml"],
    "measurement": ["bench", "show", "fifo"],
    "measurements": ["bench", "compare", "fifo", "fifo"],
    "profile to measure by": ["bench", "run", "local", "local", "--profile", "fifo.toml"],
    "plan": ["apply", "--dry-run", "fifo"],
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text(GUEST)
    os.mkfifo(tmp_path / "fifo")
    os.mkfifo(tmp_path / "fifo.toml")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_fifo_is_refused(command: list[str], here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vnicaudit", *command],
        capture_output=True, text=True, timeout=120, check=False, cwd=here,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"Error: {command[-1]}: not a regular file\n")


@pytest.mark.parametrize("kind", ["pipe", "broken link"])
def test_settings_that_were_not_named_are_refused_too(kind: str, here: Path) -> None:
    """They were passed over without a word, and the audit ran by other settings than were meant."""
    below = here / "below"
    below.mkdir()
    settings = here / "vnicaudit.toml"
    if kind == "pipe":
        os.mkfifo(settings)
    else:
        settings.symlink_to("gone.toml")
    done = subprocess.run(
        [sys.executable, "-m", "vnicaudit", "audit", "../a.xml"],
        capture_output=True, text=True, timeout=120, check=False, cwd=below,
    )  # fmt: skip
    problem = "No such file or directory" if "link" in kind else "not a regular file"
    assert (done.returncode, done.stderr) == (2, f"Error: {settings}: {problem}\n")


@pytest.mark.usefixtures("here")
def test_no_device_stands_for_no_settings() -> None:
    assert run(["audit", "--config", os.devnull, "a.xml"]) == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"x = {'1' * 5000}", "not valid TOML: "),
        (f"x.{'a.' * 20_000}b = 1", "more than 200 dots in one line"),
    ],
)
def test_settings_beyond_all_bounds_are_refused(line: str, problem: str, capsys: Capture) -> None:
    Path("vnicaudit.toml").write_text(f"{line}\n")
    assert run(["audit", "a.xml"]) == 2
    assert f"vnicaudit.toml:1: {problem}" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_profile_beyond_all_bounds_is_refused(capsys: Capture) -> None:
    Path("p.toml").write_text(f"x = {'1' * 5000}\n")
    assert run(["bench", "profiles", "p.toml"]) == 2
    assert "p.toml:1: not valid TOML: " in capsys.readouterr().err
