"""``vnicaudit advise network``: what it reads and writes, and its exit codes."""

import json
import re
from pathlib import Path

import msgspec

from tests.cli.command import vnicaudit
from tests.cli.inside import inside
from tests.docs.pages import ROOT
from vnicaudit.model.scenario import FlowNetwork, NetworkNeeds, ScenarioPlatform, TrafficFlow

TEMPLATE = ROOT / "templates/advise/scenario.toml"


def test_init_prints_the_template_and_writes_it_to_a_new_file(tmp_path: Path) -> None:
    printed = inside("advise", "network", "--init")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout == TEMPLATE.read_text("utf-8")
    done = inside("advise", "network", "--init", "-o", "new.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "new.toml: edit it, then run: vnicaudit advise network new.toml\n"
    assert (tmp_path / "new.toml").read_text("utf-8") == printed.stdout


def test_init_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[platform]\n")
    done = inside("advise", "network", "--init", "-o", "mine.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: mine.toml exists and was not replaced; choose another name\n"
    assert (tmp_path / "mine.toml").read_text() == "[platform]\n"


def test_the_template_explains_every_key_in_one_line() -> None:
    text = TEMPLATE.read_text("utf-8")
    keys = re.findall(r"^#?(\w+) = .*\S +# (?=\S)", text, re.MULTILINE)
    records = (ScenarioPlatform, NetworkNeeds, TrafficFlow, FlowNetwork)
    known = {one.encode_name for kind in records for one in msgspec.structs.fields(kind)}
    assert set(keys) == known - {"network"}


def test_every_key_of_the_template_is_accepted(tmp_path: Path) -> None:
    """Also those behind a ``#``, as an operator would say them."""
    text = re.sub(r"^#(?=\[|\w+ = )", "", TEMPLATE.read_text("utf-8"), flags=re.MULTILINE)
    (tmp_path / "all.toml").write_text(text)
    done = inside("advise", "network", "all.toml", "--format", "json", cwd=tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout)["schema"] == "vnicaudit.advice/1"


def test_standard_input_and_files_of_each_format(tmp_path: Path) -> None:
    text = TEMPLATE.read_bytes()
    whole = vnicaudit("advise", "network", "-", stdin=text, cwd=tmp_path)
    assert whole.stdout.startswith("frontend-stock  pod to pod  across nodes  request/response")
    for name, begins in (
        ("a.md", "## vnicaudit advise network\n"),
        ("a.json", '{"schema":'),
        ("a.txt", "fr"),
    ):
        done = inside("advise", "network", TEMPLATE, "-o", name, cwd=tmp_path)
        assert (done.stdout, done.stderr) == ("", "")
        assert (tmp_path / name).read_text().startswith(begins)


def test_mistakes_name_file_place_and_what_to_do(tmp_path: Path) -> None:
    for text, told in (
        (
            "[platform]\nsdm = 'other'\n",
            "a.toml: [platform]: unknown key 'sdm'; did you mean 'sdn'?",
        ),
        ("[[flow]]\nname = 'a'\nfrom = 'pod'\nto = 'moon'\n", "a.toml: [[flow]] 1: "),
        ("[needs]\n", "a.toml: no flow; add a table [[flow]] with name, from and to"),
        ("[[flow]\n", "a.toml:1: not valid TOML: "),
        ("x" * 1_100_000, "a.toml: larger than 1 MiB: not a scenario"),
    ):
        (tmp_path / "a.toml").write_text(text)
        done = inside("advise", "network", "a.toml", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
    done = inside("advise", "network", "none.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "Error: none.toml: No such file or directory\n")


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    for words, told in (
        ((), "name a SCENARIO.toml"),
        (("--init", "a.toml"), "--init reads no scenario: use it alone, or with --output"),
        ((TEMPLATE, "-o", "a.sarif"), "a.sarif: the file name does not tell the format"),
    ):
        done = inside("advise", "network", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr


def test_names_cannot_reach_the_terminal_as_commands(tmp_path: Path) -> None:
    name = "\\u001b[2J\\u202e::error::x"
    (tmp_path / "a.toml").write_text(f'[[flow]]\nname = "{name}"\nfrom = "pod"\nto = "pod"\n')
    for form in ("text", "markdown", "json"):
        done = inside("advise", "network", "a.toml", "--format", form, cwd=tmp_path)
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout
        assert not re.search(r"^::", done.stdout, re.MULTILINE)
