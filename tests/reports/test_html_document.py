"""The head of every page: colours in two sets that match, and a policy that fits to the byte."""

import re
from base64 import b64decode
from hashlib import sha256

from vnicaudit.reports.as_html import head, policy, stylesheet
from vnicaudit.reports.page.summary import page_script

STYLES = ("page/page.css", "page/table.css", "bench/report.css")


def test_dark_has_the_colours_of_light_and_all_that_are_used() -> None:
    text = stylesheet(*STYLES)
    light, system, chosen = re.findall(r":root[^{}]*\{([^{}]*--slow[^{}]*)\}", text)
    names = [set(re.findall(r"(--\w+):", block)) for block in (light, system, chosen)]
    assert names[0] == names[1] == names[2]
    assert system.strip() == chosen.strip()
    assert set(re.findall(r"var\((--\w+)\)", text)) <= names[0] | {"--row"}


def test_the_policy_has_the_hashes_of_what_the_browser_sees() -> None:
    page = head("a <b> & c", stylesheet(*STYLES), page_script())
    assert "<title>a &lt;b&gt; &amp; c</title>" in page
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    rules = dict(rule.split(" ", 1) for rule in policy(style, page_script()).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["trusted-types"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    for name, text in (("style-src", style), ("script-src", page_script())):
        assert digest(rules[name]) == sha256(text.encode()).digest()


def test_a_page_without_a_script_runs_none() -> None:
    assert "script" not in policy("p {}")


def test_neither_can_end_the_element_it_is_in() -> None:
    assert "</" not in stylesheet(*STYLES)
    assert not re.search("<!--|</script|<script", page_script(), re.IGNORECASE)


def digest(source: str) -> bytes:
    """The bytes of ``'sha256-…'``."""
    return b64decode(source.removeprefix("'sha256-").removesuffix("'"))
