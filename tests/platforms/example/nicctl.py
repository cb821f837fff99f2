"""The command that changes an inventory: ``nicctl FILE MAC MODEL``."""

from __future__ import annotations

import os
import re
import signal
import sys

KILLS = "NICCTL_KILLS"
"""Variable with the MAC of the NIC at which the program that runs the command is ended, when the
NIC is changed, and before it hears of that."""


def main(path: str, mac: str, model: str) -> int:
    """Set the model of a NIC; 1 where there is no such NIC."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    line = re.compile(rf"^(nic\d+ *= *)\S+( +{re.escape(mac)} )", re.MULTILINE)
    text, found = line.subn(lambda match: f"{match[1]}{model}{match[2]}", text)
    if not found:
        print(f"there is no NIC {mac}", file=sys.stderr)
        return 1
    with open(f"{path}.new", "w", encoding="utf-8") as stream:
        stream.write(text)
    os.rename(f"{path}.new", path)
    return 0


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    if os.environ.get(KILLS) == sys.argv[2]:
        os.kill(os.getppid(), signal.SIGKILL)
    sys.exit(code)
