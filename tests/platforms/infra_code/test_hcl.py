"""HCL: what is relied on of python-hcl2, and where it ends."""

from __future__ import annotations

import hcl2
import pytest
from hcl2.parser import parser

from vnicaudit.errors import TargetError
from vnicaudit.platforms.infra_code.hcl import ESCAPED, MAX_LENGTH, GrammarRule, blocks
from vnicaudit.platforms.infra_code.value import Value


def test_the_grammar_has_the_rules_that_are_looked_for() -> None:
    """Where a rule has another name, its subtrees would be passed over without a word."""
    wanted = {name for key, name in vars(GrammarRule).items() if key.isupper()}
    assert len(wanted) > 10
    grammar = parser()
    assert wanted <= {str(rule.origin.name) for rule in grammar.rules}
    assert set(ESCAPED) <= {terminal.name for terminal in grammar.terminals}


def _body(text: str) -> Value:
    (block,) = blocks(f"a {{\n{text}\n}}\n", "f")
    return block.body


@pytest.mark.parametrize(
    ("written", "kind", "text", "certain"),
    [
        ('"b"', "scalar", "b", True),
        ('""', "scalar", "", True),
        ('"a\\"b\\\\c"', "scalar", 'a"b\\c', True),
        ('"$${b}%%{c}"', "scalar", "${b}%{c}", True),
        ('"x${b}"', "scalar", "x${b}", False),
        ("8", "scalar", "8", True),
        ("1.5", "scalar", "1.5", True),
        ("true", "scalar", "true", True),
        ("null", "other", "null", True),
        ("{}", "map", "", True),
        ("[]", "list", "", True),
        ("var.b", "other", "var.b", False),
        ("-1", "other", "-1", False),
        ("f(" + "x, " * 100 + "y)", "other", ("f(" + "x, " * 100)[:200], False),
    ],
)
def test_values(written: str, kind: str, text: str, certain: bool) -> None:
    found = _body(f"  k = {written}").get("k")
    assert found is not None
    assert (found.kind, found.text, found.certain) == (kind, text, certain)
    assert (found.line, found.column) == (2, 7)


def test_lists_with_comments() -> None:
    found = _body("  k = [\n    1, # one\n    # none\n    { a = 2 },\n  ]").get("k")
    assert found is not None
    assert [(item.kind, item.line) for item in found.items()] == [("scalar", 3), ("map", 5)]


@pytest.mark.parametrize("nested", ["[" * 3000 + "]" * 3000, "{a=" * 3000 + "1" + "}" * 3000])
def test_what_is_nested_deeply_is_not_certain(nested: str) -> None:
    found = _body(f"  k = {nested}").get("k")
    for _level in range(100):
        if found is not None and found.entries:
            found = found.entries[0][1]
    assert found is not None
    assert (found.kind, found.certain) == ("other", False)


def test_a_parser_at_its_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> None:
        parse(text)

    monkeypatch.setattr(hcl2, "parses_to_tree", parse)
    with pytest.raises(TargetError) as caught:
        blocks("a {}\n", "f")
    assert (caught.value.message, caught.value.file) == (
        "HCL that is nested too deeply: not read",
        "f",
    )


def test_a_long_file_is_refused() -> None:
    with pytest.raises(TargetError, match="larger than 256 KiB: not read"):
        blocks("#" * (MAX_LENGTH + 1), "f")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ('locals {\n a = "x ${~ var.a ~} y"\n}\n', "'~ var.a ~} y' where", 2),
        ("a {\n b = = 1\n}\n", "'= 1' where", 2),
        ("a {\n b = 1\n", "the end where", 3),
    ],
)
def test_what_the_parser_does_not_read_is_not_called_invalid(
    text: str, message: str, line: int
) -> None:
    with pytest.raises(TargetError) as caught:
        blocks(text, "f")
    expected = f"not read by the HCL parser: {message} it expects something else"
    assert (caught.value.message, caught.value.line) == (expected, line)
