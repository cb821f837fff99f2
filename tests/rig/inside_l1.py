"""What L1 asks its guests: `python3 -m tests.rig.inside_l1 COMMAND ...`, run inside L1.

run NAME SECONDS PROGRAM ...   run a program in a guest by its agent; how it ended, as JSON
wait NAME SECONDS              wait for a guest's agent
dns ADDRESS SECONDS            ask the DNS server there until it answers; true or false, as JSON
"""

import dataclasses
import importlib
import json
import sys
from typing import Any

from tests.rig import dns
from tests.rig.agent import Agent
from tests.rig.errors import RigError
from tests.rig.process import wait_for


def main(command: str, whom: str, seconds: str, *argv: str) -> None:
    """Do what a command says, or raise RigError."""
    if command == "run":
        print(json.dumps(dataclasses.asdict(_agent(whom).run(argv, timeout=float(seconds)))))
    elif command == "wait":
        _agent(whom).wait(seconds=float(seconds))
    elif command == "dns":
        print(json.dumps(_answers(whom, float(seconds))))
    else:
        raise RigError(f"no command {command}")


def _answers(address: str, seconds: float) -> bool:
    try:
        return wait_for(lambda: dns.answers(address), "an answer", seconds=seconds)
    except RigError:
        return False


def _agent(name: str) -> Agent:
    libvirt: Any = importlib.import_module("libvirt")
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    return Agent(libvirt.open("qemu:///system").lookupByName(name))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except RigError as error:
        sys.exit(str(error))
