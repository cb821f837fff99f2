"""The fenced blocks of a documentation page, and running those that are marked.

A mark is an HTML comment on the line before the fence, which no reader sees:

* ``<!-- file: guest.xml -->`` the block is that file, saved in the reader's folder;
* ``<!-- run -->`` the ``$ `` lines of the block are run there, and print what stands below each;
  ``<!-- run: 1 -->`` the last of them ends with exit code 1, the others with any.

A line that is ``…`` alone stands for any text. White space and line breaks are not compared:
where text is wrapped depends on how long the path of a folder is.
"""

import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CHECKOUT = "/home/you/vnicaudit"
"""What pages show as the folder of the reader, who has the checkout's templates/ in it."""

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?"
    r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One fenced block; ``line`` is that of its mark or fence, 1-based."""

    mark: str
    language: str
    text: str
    line: int


class Step(NamedTuple):
    """One command of a console block and the text shown below it."""

    command: str
    shown: str


def pages() -> list[Path]:
    """Every page that is written by hand."""
    written = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path for path in written if "rules" not in path.parts)


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(match["mark"] or "", match["language"], match["text"], line)


def steps(text: str) -> list[Step]:
    """The commands of a console block. A command goes on after a line that ends with ``\\``."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", text, flags=re.MULTILINE)[1:]
    return [Step(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


def run(step: Step, folder: Path, timeout: float = 120) -> tuple[int, str]:
    """Exit code and everything printed, in the words of the page."""
    scripts = sysconfig.get_path("scripts")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("VNICAUDIT_")}
    result = subprocess.run(
        ["bash", "-c", step.command],
        cwd=folder,
        env=environment | {"COLUMNS": "100", "PATH": f"{scripts}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
        check=False,
    )
    return result.returncode, result.stdout.decode().replace(str(folder), CHECKOUT)


def pattern(shown: str) -> re.Pattern[str]:
    """Matches :func:`squeezed` output that is what a page shows."""
    parts = re.split(r"^…$", shown, flags=re.MULTILINE)
    return re.compile(r"\s?.*\s?".join(re.escape(squeezed(part)) for part in parts), re.DOTALL)


def squeezed(text: str) -> str:
    """Text with every run of white space made one blank."""
    return " ".join(text.split())
