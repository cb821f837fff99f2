"""Parse TOML into plain values."""

from __future__ import annotations

import re
import sys

from vnicaudit.errors import UsageError

_MAX_DOTS = 200
"""Maximum number of dots in a line: a key has only a few parts."""
_SYNTAX_LINE = r"\s?\(at line (\d+), column \d+\)|\s?\(at end of document\)"


def toml_values(path: str, text: str) -> dict[str, object]:
    """The values in the text of the file ``path``. Raises UsageError, with the line, if it is not
    valid TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    for number, written in enumerate(text.split("\n"), 1):
        if written.count(".") > _MAX_DOTS:  # the parser's time grows with their square
            raise UsageError(f"{path}:{number}: more than {_MAX_DOTS} dots in one line")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also from int()
        message = str(error)
        found = re.search(_SYNTAX_LINE, message)
        end = text.rstrip("\n").count("\n") + 1
        line = int(found[1]) if found and found[1] else end
        problem = re.sub(_SYNTAX_LINE, "", message)
        raise UsageError(f"{path}:{line}: not valid TOML: {problem}") from None
