"""Tables that a script makes for docs/explanation/measuring.md: printed, written into the page, or
compared with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[1] / "docs/explanation/measuring.md"


class Place(NamedTuple):
    """Where the tables stand: between these two lines of the page."""

    begin: str
    end: str

    def shown(self) -> str:
        """The tables that the page has."""
        return PAGE.read_text("utf-8").partition(self.begin)[2].partition(self.end)[0]

    def write(self, tables: str) -> None:
        """Put these in their place."""
        head, _, rest = PAGE.read_text("utf-8").partition(self.begin)
        after = rest.partition(self.end)[2]
        PAGE.write_text(f"{head}{self.begin}{tables}{self.end}{after}", "utf-8")


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options of such a script; ``description``: its docstring."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--write", action="store_true", help="write the tables into the page")
    return made


def chosen_by(
    options: argparse.ArgumentParser, arguments: Sequence[str], seed: int
) -> argparse.Namespace:
    """The options as they are given; the seed is told."""
    chosen = options.parse_args(arguments)
    sys.stderr.write(f"seed {seed}\n")
    return chosen


def main(
    place: Place, make: Callable[[], str], description: str | None, seed: int,
    arguments: Sequence[str],
) -> int:  # fmt: skip
    """Make the tables and do with them what the options say; the exit code."""
    options = parser(description)
    options.add_argument("--check", action="store_true", help="exit 1 where the page has others")
    chosen = chosen_by(options, arguments, seed)
    tables = make()
    if chosen.write:
        place.write(tables)
    elif not chosen.check:
        sys.stdout.write(tables)
    elif tables != place.shown():
        sys.stderr.write(f"{PAGE.name} has other tables: run this with --write\n")
        return 1
    return 0
