"""An ``except`` of everything turns a bug into silence: it stands at named edges only."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "vnicaudit"

EDGES = {
    "audit/edge.py": 2,  # a host or a cloud; a file
    "audit/judgement.py": 1,  # a rule
    "bench/generator/program/crew.py": 1,  # a worker of the generator, at the endpoint
    "cli/main.py": 1,
    "remedy/applying/cautious.py": 3,  # a trial of a guest that is being changed
}


def test_what_catches_every_exception_is_one_of_the_edges() -> None:
    found: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ExceptHandler) and _is_broad(node):
                place = str(path.relative_to(PACKAGE))
                found[place] = found.get(place, 0) + 1
    assert found == EDGES


def _is_broad(node: ast.ExceptHandler) -> bool:
    """``except Exception``, or a bare one; what catches BaseException has to raise it again or hand
    it on, which a reader can see."""
    return node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception")
