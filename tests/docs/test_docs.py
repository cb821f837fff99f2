"""What the documentation shows is true: commands run, links lead somewhere, the page of the
command line is complete, examples of settings are accepted."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from docs import generate_cli
from tests.docs.pages import ROOT, Block, blocks, pages, pattern, run, squeezed, steps
from vnicaudit.audit.settings.keys import PolicyTable, Settings, SuppressTable
from vnicaudit.audit.settings.settings import load_settings
from vnicaudit.cli.commands import cli

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|#)([^)#\s]+)(?:#([^)\s]+))?\)")
_DELIMITER = re.compile(r"\|(?: *:?-+:? *\|)+$")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(
    r"(?:^\$|[|;]) vnicaudit ((?:(?:advise|bench|fleet|history|host) )?[\w-]+)([^\n|;]*)",
    re.MULTILINE,
)

PAGES = [pytest.param(path, id=str(path.relative_to(ROOT))) for path in pages()]
RUN = [
    pytest.param(path, id=str(path.relative_to(ROOT)))
    for path in pages()
    if any(block.mark.startswith("run") for block in blocks(path.read_text("utf-8")))
]


@pytest.mark.parametrize("page", RUN)
def test_commands_print_what_the_page_shows(page: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "templates").symlink_to(ROOT / "templates")
        for block in blocks(page.read_text("utf-8")):
            if block.mark.startswith("file: "):
                _save(folder / block.mark.removeprefix("file: "), block.text)
            elif block.mark.startswith("run"):
                _run(block, folder, f"{page.relative_to(ROOT)}:{block.line}")


@pytest.mark.parametrize("page", PAGES)
def test_no_row_stands_outside_of_its_table(page: Path) -> None:
    """Behind an empty line it would be shown as text."""
    lines = ["", *_CODE.sub("", page.read_text("utf-8")).splitlines(), ""]
    heads = [
        number
        for number, line in enumerate(lines)
        if line.startswith("|") and not lines[number - 1].strip()
    ]
    assert [lines[number] for number in heads if not _DELIMITER.match(lines[number + 1])] == []


def _save(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def _run(block: Block, folder: Path, where: str) -> None:
    wanted = steps(block.text)
    assert wanted, f"{where}: no command"
    for step in wanted:
        code, printed = run(step, folder)
        assert pattern(step.shown).fullmatch(squeezed(printed)), (
            f"{where}: $ {step.command}\nprints\n{printed}"
        )
    last = int(block.mark.partition(":")[2] or 0)
    assert code == last, f"{where}: exit code {code}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        place = (page.parent / target).resolve()
        assert place.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in _anchors(place), f"{page.name}: {target}#{anchor}"


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub and MyST make them."""
    headings = _HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES)
def test_options_in_command_lines_exist(page: Path) -> None:
    known = _options()
    for block in blocks(page.read_text("utf-8")):
        for name, rest in _COMMAND.findall(block.text if block.language == "console" else ""):
            assert name in known, f"{page.name}:{block.line}: vnicaudit {name}"
            for option in re.findall(r"(?<= )--?[a-z][\w-]*", rest):
                assert option in known[name], f"{page.name}:{block.line}: {name} {option}"


@pytest.mark.parametrize("columns", ["40", "200"])
def test_page_of_the_command_line_is_current_at_every_terminal(columns: str) -> None:
    """In a process of its own: click keeps what a test has made of a command (its help option)."""
    done = subprocess.run(
        [sys.executable, generate_cli.__file__, "--check"],
        env={**os.environ, "COLUMNS": columns},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_page_of_the_command_line_has_every_command_and_option() -> None:
    """Below its heading, or in the table of those of every command; the short name of a shared
    option is in the table of those."""
    page = generate_cli.PAGE.read_text("utf-8")
    short = {name for name in _shown(page, "Options of several commands") if name[1] != "-"}
    common = _shown(page, "Options of every command") | {"-h", "--help", "--help-all"}
    for name, options in _options().items():
        shown = common | _shown(page, f"vnicaudit {name}")
        assert options - short <= shown, f"{name}: {options - shown}"


def _shown(page: str, heading: str) -> set[str]:
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"(?<=[`, ])--?[a-z][\w-]*", section))


def test_check_exits_1_when_the_page_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_cli, "PAGE", tmp_path / "cli.md")
    assert generate_cli.main(["--check"]) == 1
    assert "docs/reference/cli.md differs" in capsys.readouterr().err
    assert generate_cli.main([]) == 0
    assert generate_cli.main(["--check"]) == 0


def _options() -> dict[str, set[str]]:
    """Command -> its options, long and short; that of a group is ``bench run``."""
    return dict(_options_of(cli, click.Context(cli, info_name="vnicaudit", **cli.context_settings)))


def _options_of(group: click.Group, context: click.Context) -> Iterator[tuple[str, set[str]]]:
    for name, command in generate_cli.members(group, context):
        inner = click.Context(command, parent=context, info_name=name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {own}", found) for own, found in _options_of(command, inner))
        else:
            parameters = [
                one for one in command.get_params(inner) if not getattr(one, "hidden", False)
            ]
            yield name, {word for p in parameters for word in p.opts if word.startswith("-")}


def test_settings_on_the_configuration_page_are_accepted(tmp_path: Path) -> None:
    text = (ROOT / "docs/reference/configuration.md").read_text("utf-8")
    examples = [block for block in blocks(text) if block.language == "toml"]
    assert examples
    for block in examples:
        shared = "[tool.vnicaudit" in block.text
        file = tmp_path / ("pyproject.toml" if shared else "vnicaudit.toml")
        file.write_text(block.text, "utf-8")
        assert load_settings(str(file)).file == str(file)


def test_configuration_page_names_every_key() -> None:
    text = (ROOT / "docs/reference/configuration.md").read_text("utf-8")
    for key in _keys():
        assert f"| `{key}` |" in text


def _keys() -> list[str]:
    kinds = (Settings, SuppressTable, PolicyTable)
    return [field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)]


def test_changelog_has_a_section_for_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    unreleased = text.partition("\n## [Unreleased]\n")[2].partition("\n## [")[0]
    assert "### Added" in unreleased
