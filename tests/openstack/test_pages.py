"""The page of refusals: each message is one that the product has."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.docs.pages import ROOT, squeezed

PAGE = (ROOT / "docs/reference/refusals.md").read_text("utf-8")
TABLE = PAGE.partition("## Servers of a cloud")[2].partition("\n## ")[0]
# what is left out, and what stands for any: a state, a number, a host, a command of nova-manage or
# of openstack, with the cloud's name
_ANY = re.compile(
    r"\bopenstack --os-cloud \w+| ?\(…\)|…"
    r"|\b\w*[A-Z0-9]{2,}\w*\b|\b\w*[0-9]\w*\b|\w+_\w+ set\b"
)
_FILLED = "\N{REPLACEMENT CHARACTER}"


def messages() -> Iterator[str]:
    """The messages of the table."""
    for row in re.findall(r"^\| (`.*?) \|", TABLE, re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", row)


def written(node: ast.AST) -> str:
    """A string of the source; a hole in it is a sign that no message has."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(written, node.values))
    return str(node.value) if isinstance(node, ast.Constant) else _FILLED


@cache
def source() -> str:
    """All strings of the product."""
    trees = (ast.parse(path.read_text("utf-8")) for path in (ROOT / "vnicaudit").rglob("*.py"))
    texts = (node for tree in trees for node in ast.walk(tree))
    kinds = (ast.JoinedStr, ast.Constant)
    return "\n".join(squeezed(written(node)) for node in texts if isinstance(node, kinds))


@pytest.mark.parametrize("message", list(messages()))
def test_the_product_has_what_the_table_says_is_refused(message: str) -> None:
    pieces = [piece.strip() for piece in _ANY.split(message)]
    long = [piece for piece in pieces if " " in piece]
    assert long, pieces
    assert [piece for piece in long if piece not in source()] == []
