"""Compares what two states of the program print for the same inputs, byte by byte.

    python scripts/compare_outputs.py record OUT.gz INPUT...   # with the tree to try on PYTHONPATH
    python scripts/compare_outputs.py diff OLD.gz NEW.gz    # exit 1 if they differ

``record`` runs each command of ``COMMANDS`` on each file below each INPUT (a file or folder, named
in the same way each time), in a few processes, and writes a line of JSON per input and command:
exit code, standard output, standard error. Two recordings can be compared if they are of the same
inputs. The inputs of tests/rules are YAML with definitions as
strings, which the program reads as well. Keep recordings outside the tree. A change that is meant
to change nothing leaves ``diff`` silent; any other names the lines that ``diff`` shows.
"""

from __future__ import annotations

import difflib
import gzip
import io
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import zip_longest
from pathlib import Path

COMMANDS = (
    ("audit",),
    ("audit", "--view", "full"),
    ("audit", "--format", "json"),
    ("audit", "--format", "sarif"),
    ("audit", "--diff", "--include-unsafe"),
    ("nics",),
    ("nics", "--format", "json"),
    ("plan", "--include-unsafe"),
    ("plan", "--include-unsafe", "-o", "-"),
    ("explain", "--nic", "0"),
)
"""Words of the command line, before the target."""

_MOMENTS = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?|\b\d+(\.\d+)? (ms|s)\b"
)
"""Times differ from run to run; they are printed as ``TIME``."""

Recorded = dict[str, str | int]
"""``input``, ``command``, ``code``, ``out``, ``err``."""


def inputs(named: list[Path]) -> Iterator[Path]:
    """The files that are named, and those below the folders that are, in order."""
    for one in named:
        if one.is_dir():
            yield from sorted(path for path in one.rglob("*") if path.is_file())
        else:
            yield one


def run_all(path: Path) -> list[Recorded]:
    """The output of each command for one input."""
    from vnicaudit.cli.main import run  # of the tree that is tried

    lines: list[Recorded] = []
    for words in COMMANDS:
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            code = run([*words, str(path)])
        lines.append(
            {
                "input": str(path),
                "command": " ".join(words),
                "code": code,
                "out": _MOMENTS.sub("TIME", out.getvalue()),
                "err": _MOMENTS.sub("TIME", err.getvalue()),
            }
        )
    return lines


def record(out: Path, named: list[Path]) -> None:
    """Write the recording of all inputs."""
    os.environ |= {"COLUMNS": "100", "HOME": "/nonexistent"}
    with multiprocessing.Pool() as pool, gzip.open(out, "wt", compresslevel=1) as file:
        for lines in pool.imap(run_all, inputs(named), chunksize=8):
            file.writelines(json.dumps(line) + "\n" for line in lines)


def compare(old: Path, new: Path) -> int:
    """Print what differs; the number of outputs that do."""
    count = number = 0
    with gzip.open(old, "rt") as before, gzip.open(new, "rt") as after:
        for one, other in zip_longest(before, after, fillvalue="{}"):
            number += 1
            if one == other:
                continue
            was, became = json.loads(one), json.loads(other)
            if (name := _name(was)) != _name(became):
                sys.exit(f"the recordings are of different inputs: {name}, {_name(became)}")
            count += 1
            print("==", name)
            sys.stdout.writelines(
                f"{line}\n"
                for line in difflib.unified_diff(_lines(was), _lines(became), lineterm="", n=0)
                if not line.startswith(("---", "+++", "@@"))
            )
    print(f"{count} of {number} outputs differ", file=sys.stderr)
    return count


def _name(line: Recorded) -> str:
    return f"{line.get('command')} {line.get('input')}"


def _lines(line: Recorded) -> list[str]:
    return [f"exit {line['code']}", *f"{line['out']}\n{line['err']}".split("\n")]


def main(words: list[str]) -> int:
    """The command; its exit code."""
    match words:
        case ["record", out, *named] if named:
            record(Path(out), [Path(one) for one in named])
            return 0
        case ["diff", old, new]:
            return 1 if compare(Path(old), Path(new)) else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
