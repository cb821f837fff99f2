"""A real Open vSwitch beside that of the machine, with a database, sockets and a daemon of its own.

Its ports are dummies, and the NUMA nodes of its PMDs need not be those of the machine, as in
tests/pmd.at of Open vSwitch.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.rig.process import require, run

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
NODES_OF_CPUS = "0,0,1,1,0,1"


class OpenVSwitch:
    """One that runs. ``env``: variables by which its programs find it."""

    def __init__(self, folder: Path) -> None:
        places = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        self.env = {**os.environ, **dict.fromkeys(places, str(folder))}

    def set(self, *words: str) -> None:
        """``ovs-vsctl WORDS``; it returns when the daemon has done what they say."""
        run("ovs-vsctl", "-t", "30", *words, env=self.env)


@contextmanager
def running_open_vswitch() -> Iterator[OpenVSwitch]:
    """It runs within the block. Raises Missing without its programs."""
    require("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl", "ovs-ofctl")
    with TemporaryDirectory(prefix="ovs-", dir="/tmp") as name:  # paths of sockets are short
        switch, folder = OpenVSwitch(Path(name)), Path(name)
        to_background = ("--pidfile", "--log-file", "--detach", "--no-chdir")
        run("ovsdb-tool", "create", folder / "conf.db", SCHEMA, env=switch.env)
        remote = f"--remote=punix:{folder}/db.sock"
        run("ovsdb-server", folder / "conf.db", remote, *to_background, env=switch.env)
        try:
            switch.set("--no-wait", "init")
            run(
                "ovs-vswitchd", f"unix:{folder}/db.sock", *to_background, "--enable-dummy=override",
                "--disable-system", f"--dummy-numa={NODES_OF_CPUS}", env=switch.env,
            )  # fmt: skip
            try:
                yield switch
            finally:
                run("ovs-appctl", "-t", "ovs-vswitchd", "exit", env=switch.env)
        finally:
            run("ovs-appctl", "-t", "ovsdb-server", "exit", env=switch.env)
