"""Objects as YAML: every text in quotes, so that one that looks like something else (``on``, a
number, a line break) stays a text for readers of YAML 1.1 and 1.2; long JSON as a block."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

_PLAIN_KEY = re.compile(r"(?!(?i:yes|off|true|false|null)$)[A-Za-z][A-Za-z-]{2,60}")


def yaml_text(document: Mapping[str, object], comments: Iterable[str]) -> str:
    """An object below comments, each in a line of its own."""
    return comment_lines(comments) + "".join(f"{line}\n" for line in _mapping(document, ""))


def comment_lines(comments: Iterable[str]) -> str:
    """Comments, each in a line of its own whatever is in it."""
    return "".join(f"# {' '.join(comment.split())}\n" for comment in comments)


def _mapping(parts: Mapping[str, object], indent: str) -> Iterator[str]:
    for key, part in parts.items():
        shown = key if _PLAIN_KEY.fullmatch(key) else json.dumps(key)
        yield from _part(f"{indent}{shown}:", part, indent)


def _part(begins: str, part: object, indent: str) -> Iterator[str]:
    if isinstance(part, Mapping) and part:
        yield begins
        yield from _mapping(part, f"{indent}  ")
    elif isinstance(part, Sequence) and not isinstance(part, str) and _all_mappings(part):
        yield begins
        for each in part:
            first, *others = _mapping(each, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from others
    elif isinstance(part, str) and "\n" in part:
        yield f"{begins} |-"
        yield from (f"{indent}  {line}" for line in part.split("\n"))
    else:
        yield f"{begins} {json.dumps(part)}"


def _all_mappings(parts: Sequence[object]) -> bool:
    return bool(parts) and all(isinstance(each, Mapping) and each for each in parts)
