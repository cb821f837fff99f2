"""Help, the README and the pages keep to the words of docs/reference/words.md: phrases that were
put right stay away, and a word that has one meaning gets no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import click
import pytest

from docs import generate_cli
from tests.docs.pages import ROOT, pages
from tests.rows import rows
from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.cli.commands import cli

BANNED: Final = {
    r"beginnings of ids": "prefixes of ids",
    r"\b(also )?what is in order\b": "what passed",
    r"\bwho(se|m)? end was not seen\b": "whose result is unknown",
    r"\bgive (a|the) (live )?host up\b": "timeout",
    r"\bnobody is there to (be asked|answer)\b": "not a terminal",
    r"\bnot a word (of )?why\b": "no error output",
    r"\b(carry|carries|carried) (a|the|that|this) (plan|file) out\b": "apply",
    r"\bplan is carried out\b": "apply",
    r"\bcarr(y|ies) out a plan\b": "apply",
    r"\btakes? (a|the|an earlier) (run|one) back\b": "undo",
    r"\bhear of what is new\b": "report only new findings",
    r"\bset otherwise than the most of\b": "configured differently from most of",
    r"\bsay it behind\b": "append",
    r"\bcannot be said of\b": "is unknown for",
    r"\bpip install '?vnicaudit\b": "nothing is published on an index: from a checkout",
    r"\banew\b": "again; restart, rewrite, rebuild",
    r"\bwould tell\b": "is needed, would show",
    r"\bdriv(es?|ing) virtio\b": "support virtio",
    r"\bknows? virtio 0\.9 only\b": "supports only virtio 0.9",
    r"\bspeaks? instead\b": "see VNIC…",
    r"\bcosts? itself\b": "is skipped; the others are still reported",
    r"\bis not known that\b": "may, may not, is unknown",
    r"\bwithout a word\b": "silently",
    r"\bthe one that is the copy\b": "the copy",
    r"\bas it is the (domain|guest|server)\b": "the … as it is",
    r"\bno more (boots|starts|runs)\b": "no longer",
    r"\bis made for you\b": "no change is proposed",
    r"\b(not |throws? )?written down as\b": "declared as",
    r"\btakes? (it|them) back\b": "undo, roll back, revert",
    r"\bhost that has none\b": "does not have it",
    r"\bstands? in the way\b": "blocks, prevents",
    r"\bis called so\b": "has that name",
    r"\bat work on\b": "working on",
    r"\b(was|were|is|are) begun\b": "started",
    r"\bgives? the same (command|again)\b": "repeat the command",
    r"\btold to admins only\b": "only admins can see",
    r"\bcould not all be undone\b": "not everything could be undone",
    r"\bneither runs nor is\b": "neither running nor off",
    r"\bcannot be looked at\b": "cannot be read, checked, reached",
    r"\bnothing is left to do\b": "there is nothing left to do",
    r"\bdid not come out as\b": "differs from",
    r"\bcan hold no lock\b": "cannot be locked",
    r"\bwaits for a word\b": "waits for confirmation",
    r"\bas was asked for\b": "as requested",
    r"\b(come|came) to nothing\b": "invalid",
    r"\bis no (file|plan|name|URL|endpoint|speed|port|user|profile) (of|for)\b": "is not a …",
    r"\bis no (number|identifier|backend|NIC|ring|slot|domain|MAC address)\b": "is not a …",
    r"\b(stands?|is there) twice\b": "appears twice, is defined twice",
    r"\b(sees|gets|needs) another (CPU|address|device|driver|network device)\b": "a different …",
    r"\bin another order\b": "in a different order",
    r"\b(was|were) made of it\b": "used by …",
    r"\binside (of )?a text\b": "inside a string",
    r"\bhas come up\b": "is new",
    r"\bnot found again\b": "is no longer there",
    r"\bneeds? a second look\b": "needs review",
    r"\bwhich is not there\b": "which does not exist",
    r"\bbears? on\b": "affects, decides",
    r"\btaken back\b": "undone, rolled back",
    r"\bmakes? something else of\b": "changes",
    r"\bin the place of\b": "instead of",
}
"""A phrase (a regular expression, whatever its case) -> what to write."""
SECOND_MEANINGS: Final = {
    r"\b(rule|judging|apply|planning) engine\b": "engine: a load generator, or what reads a fleet",
    r"\b(is|are|as) a wish\b": "wish: a proposed change",
    r"\brun sheet\b": "sheet: a run",
    r"\b(before|as) (a|the) baseline measurement\b": "baseline: accepted findings",
    r"\btarget (model|type)\b": "target: what is named on the command line; NIC type",
    r"\biptables-like\b": "target: what is named on the command line",
    r"\ba second look\b(?! of)": "look: review",
}
"""A word of the glossary in another meaning -> the meaning that it has, or the word to use."""
HELP_LEANS: Final = re.compile(r"(What|Where|Whether|Instead|Not|Nobody|These|It|The same|How)\b")
"""Help of an option is an imperative or a noun: never a question, never a rest of a sentence."""
PAGES: Final = [pytest.param(p, id=str(p.relative_to(ROOT))) for p in pages()]
HISTORICAL: Final = ("CHANGELOG.md", "docs/decisions")
"""They tell what was, in the words of that day."""


def faults(text: str) -> list[str]:
    """Phrases of a text that are banned, each with what to write."""
    squeezed = " ".join(text.split())
    return [
        f"{match[0]!r}: {better}"
        for wrong, better in (BANNED | SECOND_MEANINGS).items()
        for match in re.finditer(wrong, squeezed, re.IGNORECASE)
    ]


def without_blocks(text: str) -> str:
    """A page without its fenced blocks: output that is shown is held where it is made."""
    return re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Path and command of all commands and groups below a group."""
    for name, command in generate_cli.members(group, context):
        inner = click.Context(command, parent=context, info_name=name)
        yield inner.command_path, command
        if isinstance(command, click.Group):
            yield from commands(command, inner)


ALL: Final = dict(commands(cli, click.Context(cli, info_name="vnicaudit")))


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_banned_phrase(page: Path) -> None:
    if not str(page.relative_to(ROOT)).startswith(HISTORICAL):
        assert faults(without_blocks(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", ALL)
def test_help_has_no_banned_phrase(path: str) -> None:
    command = ALL[path]
    assert faults(f"{command.help} {command.epilog} {command.short_help}") == []
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            text = option.help or ""
            assert faults(text) == [], f"{path} {option.opts}"
            assert not HELP_LEANS.match(text), f"{path} {option.opts}: {text}"


@pytest.mark.parametrize("rule_id", rule_ids())
def test_pages_of_rules_have_no_banned_phrase(rule_id: str) -> None:
    assert faults(without_blocks(shipped_catalogue().info(rule_id).manual)) == []


@rows
def test_phrases_are_found_over_ends_of_lines(text: str, count: int) -> None:
    assert len(faults(text)) == count


def test_each_page_has_its_place_in_the_sidebar_once() -> None:
    """Sphinx tells of a page that has none, and not of one that has two."""
    index = (ROOT / "docs/index.md").read_text("utf-8")
    entries = re.findall(r"^[a-z][\w-]*(?:/[\w-]+)?$", index, re.MULTILINE)
    written = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").glob("**/*.md")
        if "_build" not in path.parts
    }
    inner = {name for name in written if re.match(r"(rules/VNIC|decisions/\d)", name)}
    assert sorted(entries) == sorted(written - inner - {"index"})


def test_pictures_are_well_formed_and_know_dark_and_light() -> None:
    pictures = sorted((ROOT / "docs/images").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text("utf-8")
        root = ElementTree.fromstring(text)
        assert root.find("{*}title") is not None
        assert root.find("{*}desc") is not None
        assert "prefers-color-scheme: dark" in text
        assert "href" not in text.replace("xlink", "")


def test_pictures_on_pages_are_there() -> None:
    for page in pages():
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
