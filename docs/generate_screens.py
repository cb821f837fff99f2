"""Write docs/images/screens: pictures of the output of commands on the demo.

python docs/generate_screens.py            write the pictures
python docs/generate_screens.py --check    exit 1 if one does not show the output of its command

A picture contains its text, for people who cannot see it. Only the text is checked, because the
drawing may change with the version of rich.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from lxml import etree
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "screens"
HOME = "/home/you/vnicaudit"
"""Folder of the reader shown in a picture. As long as that of a temporary folder, so that text
wraps in the same way."""
WIDTH = 100


class Screen(NamedTuple):
    """A command, and the maximum number of output lines to show (cut at an empty line)."""

    name: str
    command: str
    lines: int


HOST = "test://$PWD/templates/demo/host.xml"
SCREENS = (
    Screen("audit", f"vnicaudit audit {HOST} templates/demo/nova.conf", 34),
    Screen("explain", f"vnicaudit explain {HOST} --domain mail-01 --nic 0", 40),
    Screen("plan", f"vnicaudit plan {HOST}", 34),
)


def printed(screen: Screen, folder: str) -> str:
    """Terminal output of a command, with its colour escapes."""
    (Path(folder) / "templates").symlink_to(ROOT / "templates")
    words = {name: text for name, text in os.environ.items() if not name.startswith("VNICAUDIT_")}
    done = subprocess.run(
        ["sh", "-c", screen.command.replace("vnicaudit", '"$0" -m vnicaudit', 1), sys.executable],
        cwd=folder,
        env={**words, "COLUMNS": str(WIDTH), "VNICAUDIT_COLOR": "always", "LC_ALL": "C.UTF-8",
             "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(f"{screen.command}: exit code {done.returncode}")
    return done.stdout.decode().replace(folder, HOME)


def shown(screen: Screen) -> Text:
    """The start of the output, below the command."""
    with tempfile.TemporaryDirectory(prefix="vnics_", dir="/tmp") as folder:
        if len(folder) != len(HOME):
            raise SystemExit(f"{folder} is not as long as {HOME}")
        lines = printed(screen, folder).rstrip("\n").split("\n")
    cut = lines
    if len(lines) > screen.lines:
        last = max(at for at, line in enumerate(lines[: screen.lines]) if not line)
        cut = [*lines[:last], "…"]
    return Text.assemble(
        ("$ ", "green"), (screen.command, "bold"), "\n", Text.from_ansi("\n".join(cut))
    )


def picture(screen: Screen, text: Text) -> str:
    """The picture; it refers to no external font."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(text, no_wrap=True, crop=False, overflow="ignore", highlight=False)
    return console.export_svg(
        title=screen.command.partition(" test:")[0],
        unique_id=f"screen-{screen.name}",
        code_format=_format(screen, text.plain),
    )


def _format(screen: Screen, plain: str) -> str:
    without_fonts = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    title = f"What vnicaudit {screen.name} prints"
    words = "".join(
        f"<{tag}>{escape(text, {'{': '{{', '}': '}}'})}</{tag}>"
        for tag, text in (("title", title), ("desc", plain))
    )
    return re.sub(r"(<svg [^>]*>)", lambda found: found[1] + words, without_fonts, count=1)


def main(arguments: list[str]) -> int:
    """Write or check the pictures; returns the exit code: 1 if ``--check`` finds other text in
    one."""
    code = 0
    for screen in SCREENS:
        path, text = FOLDER / f"{screen.name}.svg", shown(screen)
        if arguments != ["--check"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(picture(screen, text), "utf-8")
        elif not path.exists() or _description(path) != text.plain:
            sys.stderr.write(f"{path.relative_to(ROOT)}: run python docs/generate_screens.py\n")
            code = 1
    return code


def _description(path: Path) -> str | None:
    return etree.parse(path).getroot().findtext("{*}desc")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
