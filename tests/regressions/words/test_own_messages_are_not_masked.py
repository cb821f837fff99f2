"""Messages pass through the mask of secrets. It took a word after "password:" for one: "without a
password: *** on 127.0.0.1 behind a proxy"."""

import ast
from collections.abc import Iterator

from tests.test_names import trees
from vnicaudit.platforms.libvirt.connection import _ADVICE
from vnicaudit.reaching.failures import ADVICE
from vnicaudit.text.secrets import masked_message


def texts_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts of the errors that a module raises; X in the place of each value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.JoinedStr):
                    pieces = (getattr(piece, "value", "") for piece in part.values)
                    yield part.lineno, "".join(p if isinstance(p, str) else "X" for p in pieces)
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def test_no_error_of_ours_is_taken_for_a_secret() -> None:
    found = [
        f"{file}:{line}: {masked_message(text)}"
        for file, tree in trees(r"(?i)raise (.|\n)*?(password|secret|token|://\S*@)")
        for line, text in texts_of(tree)
        if masked_message(text) != text
    ]
    assert not found


def test_no_advice_on_a_connection_is_taken_for_a_secret() -> None:
    advice = [text for _sign, text in (*ADVICE, *_ADVICE)]
    assert [masked_message(text) for text in advice] == advice
