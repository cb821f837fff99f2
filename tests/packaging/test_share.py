"""Manual pages: man and mandoc have nothing to say of them, and they are complete."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from docs import generate_share
from tests.docs.test_language import ALL
from tests.not_run import not_run

PAGES = sorted((generate_share.FOLDER / "man/man1").glob("*.1"))
NO_DATE = "WARNING: missing date"
"""A page that is made of the commands, and is the same each time, has none."""


def _need(program: str) -> None:
    if shutil.which(program) is None:
        not_run("packaging", f"{program} is not installed")


def _complaints(*command: str) -> list[str]:
    _need(command[0])
    done = subprocess.run(
        [*command, *map(str, PAGES)],
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if line and NO_DATE not in line]


def test_there_is_a_page_of_each_command() -> None:
    pages = {path.stem.replace("-", " ") for path in PAGES}
    assert pages == {"vnicaudit", *(path.replace("-", " ") for path in ALL)}


def test_groff_renders_them_without_a_warning() -> None:
    assert _complaints("groff", "-man", "-K", "utf8", "-T", "utf8", "-ww", "-z") == []


def test_mandoc_finds_no_fault() -> None:
    assert _complaints("mandoc", "-T", "lint") == []


def test_man_renders_one_without_a_warning() -> None:
    _need("man")
    page = generate_share.FOLDER / "man/man1/vnicaudit-audit.1"
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(page)],
        env={"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    text = re.sub(".\b", "", done.stdout)
    assert "vnicaudit-audit - Audit virtual NICs and report findings" in text
    for heading in ("SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
        assert f"\n{heading}\n" in text


@pytest.mark.parametrize("path", ALL)
def test_a_page_has_every_option_and_example(path: str) -> None:
    page = generate_share.FOLDER / f"man/man1/{path.replace(' ', '-')}.1"
    text = re.sub(r"\\f[BR]", "", page.read_text("utf-8")).replace("\\-", "-")
    command = ALL[path]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert set(option.opts) <= set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)), option
    for line in re.findall(r"^  (vnicaudit [^\s\\]+)", command.epilog or "", re.MULTILINE):
        assert line in text


def test_check_names_files_that_differ_or_should_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_share, "FOLDER", tmp_path)
    assert generate_share.main([]) == 0
    assert generate_share.main(["--check"]) == 0
    (tmp_path / "man/man1/vnicaudit-old.1").write_text("")
    (tmp_path / "man/man1/vnicaudit.1").write_text("")
    assert generate_share.main(["--check"]) == 1
    told = capsys.readouterr().err
    assert "vnicaudit-old.1 differs" in told
    assert "man1/vnicaudit.1 differs: run python -m docs.generate_share" in told
    assert generate_share.main([]) == 0
    assert generate_share.main(["--check"]) == 0
