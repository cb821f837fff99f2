"""Ids of rules that lead to their pages, on a terminal."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.inside import inside
from tests.reports.samples import WEB_01, written
from vnicaudit.cli.options.output import shows_links
from vnicaudit.reports.safe import Paint
from vnicaudit.reports.writers import Options

DOCS = "https://docs.example.org/v/"
PAGE = f"\x1b]8;;{DOCS}rules/VNIC001.html\x1b\\"
LINKED = Options(color=True, links=True, docs_url=DOCS)
_ESCAPES = r"\x1b\]8;;[!-~]*?\x1b\\|\x1b\[[0-9;]*m"


@pytest.mark.parametrize("form", ["text", "concise"])
def test_the_id_of_a_rule_leads_to_its_page(form: str) -> None:
    text = written(form, LINKED, stream=[WEB_01])
    assert text.count(PAGE) == 1
    assert text.count("\x1b]8;;\x1b\\") == len(WEB_01.findings)
    assert re.sub(_ESCAPES, "", text) == written(form, stream=[WEB_01])


@pytest.mark.parametrize("options", [
    replace(LINKED, docs_url=""), replace(LINKED, links=False), replace(LINKED, color=False),
])  # fmt: skip
def test_no_link_where_there_is_no_page_or_no_terminal(options: Options) -> None:
    assert "\x1b]8" not in written("text", options, stream=[WEB_01])


@pytest.mark.parametrize("rule", ["ACME001", "VNIC001\x1b\\\x1b[2J", "VNIC001/../x"])
def test_rules_of_others_have_no_link(rule: str) -> None:
    (finding, *_others) = WEB_01.findings
    hostile = replace(WEB_01, findings=(replace(finding, rule=rule),), crashed=())
    for form in ("text", "concise"):
        text = re.sub(_ESCAPES, "", written(form, LINKED, stream=[hostile]))
        assert "\x1b" not in text
        assert "]8" not in text


def test_an_address_that_is_not_plain_is_none() -> None:
    for address in ("", "https://x/\x1b\\", "https://x/a b", "javascript:x"):
        assert Paint(color=True).link(address, "a") == "a"


@pytest.mark.parametrize(
    ("term", "no_color", "links"),
    [("xterm-256color", "", True), ("linux", "", False), ("dumb", "", False), ("", "", False),
     ("xterm", "1", False)],
)  # fmt: skip
def test_terminals_that_have_links(
    term: str, no_color: str, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert shows_links("auto", to_terminal=True) is links
    assert not shows_links("always", to_terminal=False)


def test_no_link_in_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "vnicaudit.toml").write_text(f"docs-url = '{DOCS}'\n")
    (tmp_path / "a.conf").write_text("[libvirt]\nvirt_type = kvm\nrx_queue_size = 2048\n")
    done = inside("audit", "a.conf", "--color=always", cwd=tmp_path, env={"TERM": "xterm"})
    assert "\x1b[" in done.stdout
    assert "\x1b]" not in done.stdout
