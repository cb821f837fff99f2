"""By hand: `python -m tests.openstack up`, `... run COMMAND ...`, `... down`.

`run` is for OpenStack's own programs (openstack, nova-manage, virsh) and the product's; without
arguments it starts a shell.
"""

from __future__ import annotations

import os
import sys

from tests.openstack.running import existing, folder, running_cloud, take_down


def main(command: str = "", *argv: str) -> None:
    """Do what a command says."""
    if command == "up":
        with running_cloud(keep=True):
            print(f"{sys.executable} -m tests.openstack run openstack server list")
    elif command == "run":
        cloud = existing(folder())
        if cloud is None:
            sys.exit("No cloud is up: python -m tests.openstack up")
        inside = cloud.machine.namespaces.command(*(argv or ("bash",)))
        os.execvpe(inside[0], inside, cloud.environment())
    elif command == "down":
        take_down(folder())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
