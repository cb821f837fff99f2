"""What another program answered to what was drawn at random: written once, and compared with ours
wherever that program is not."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

T = TypeVar("T")


def write(path: Path, seed: int, drawn: Sequence[object], answers: Sequence[object]) -> None:
    """Record the answers to what was drawn with that seed."""
    rows = ",\n".join(map(json.dumps, answers))
    checksum = _checksum(drawn)
    path.write_text(f'{{"seed": {seed}, "checksum": {checksum}, "answers": [\n{rows}\n]}}\n')


def read(path: Path, draw: Callable[[int, int], list[T]]) -> tuple[list[T], list[list[Any]]]:
    """What was drawn (``draw`` takes a seed and a number), and the answer to each."""
    recorded = json.loads(path.read_text())
    answers = recorded["answers"]
    drawn = draw(recorded["seed"], len(answers))
    assert _checksum(drawn) == recorded["checksum"], "record the answers again"
    return drawn, answers


def _checksum(drawn: Sequence[object]) -> int:
    return crc32(json.dumps(drawn).encode())
