"""Real Open vSwitches beside that of the machine, each with a database, sockets and a daemon of its
own.

One has dummies for ports, and the NUMA nodes of its PMDs need not be those of the machine, as in
tests/pmd.at of Open vSwitch. The other is Debian's with DPDK, in memory without huge pages, and in
a network namespace of its own.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.rig import debian
from tests.rig.cache import cached, digest
from tests.rig.debian import Archive
from tests.rig.process import require, run
from tests.rig.product import found_at

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
NODES_OF_CPUS = "0,0,1,1,0,1"
_TO_BACKGROUND = ("--pidfile", "--log-file", "--detach", "--no-chdir")
_PACKAGES = ("openvswitch-switch-dpdk", "librte-mempool-ring25", "librte-net-null25")
_WITHOUT_HUGE_PAGES = "--no-huge --no-pci -m 256 --legacy-mem"
_IN_ROOT = """
mount --bind "$2" "$1$2" && mount --bind /proc "$1/proc" && mount --bind /sys "$1/sys" &&
    mount --rbind /dev "$1/dev" && mount -t tmpfs run "$1/run" || exit
root=$1; shift 2
exec chroot "$root" ovs-vswitchd "$@"
"""


class OpenVSwitch:
    """One that runs, with its files in ``folder``. ``env``: variables by which its programs find
    it; ``place``: the target by which it is audited."""

    def __init__(self, folder: Path, place: str) -> None:
        places = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        self.folder = folder
        self.place = place
        self.env = {**os.environ, **dict.fromkeys(places, str(folder))}

    def set(self, *words: str) -> str:
        """``ovs-vsctl WORDS``; it returns when the daemon has done what they say."""
        return run("ovs-vsctl", "-t", "30", *words, env=self.env)

    def say(self, *words: str) -> str:
        """What the daemon answers to ``ovs-appctl WORDS``."""
        return run("ovs-appctl", *words, env=self.env)

    def found(self, *words: str, window: int = 0) -> list[tuple[str, str]]:
        """The rules that found something, each with the part of the host that it names."""
        every = found_at(self.place, *words, "--window", str(window), env=self.env)
        return [(rule, where.removeprefix("host/")) for rule, where in every]


@contextmanager
def running_on_dummies() -> Iterator[OpenVSwitch]:
    """That of the machine's packages, with dummies for ports. Raises Missing without them."""
    require("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl", "ovs-ofctl")
    words = ("--enable-dummy=override", "--disable-system", f"--dummy-numa={NODES_OF_CPUS}")
    with _running("local", lambda _folder: ("ovs-vswitchd",), *words) as switch:
        yield switch


@contextmanager
def running_with_dpdk(namespace: str, **config: str) -> Iterator[OpenVSwitch]:
    """Debian's with DPDK, in a network namespace; its clock can be moved (``time/warp``). Raises
    Missing without what it needs."""
    require("dpkg", "ip", "unshare", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl")
    recipe = (Path(__file__), Path(debian.__file__))
    root = cached("open-vswitch", digest(*recipe), _build) / "root"

    def in_root(folder: Path) -> tuple[str | Path, ...]:
        (root / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)
        alone = ("ip", "netns", "exec", namespace, "unshare", "--mount", "sh", "-c", _IN_ROOT, "sh")
        return (*alone, root, folder)

    config = {"dpdk-init": "true", "dpdk-extra": _WITHOUT_HUGE_PAGES, **config}
    place = f"netns://{namespace}"
    with _running(place, in_root, "--enable-dummy", config=config) as switch:
        yield switch


def _build(folder: Path) -> None:
    """Programs and libraries of the packages. The daemon gets the name that the alternative of
    Debian gives it: by that its programs find it."""
    root = folder / "root"
    here = run("dpkg", "--print-architecture").strip()
    Archive(here, folder / "apt").unpack_with_dependencies(_PACKAGES, root)
    shutil.rmtree(folder / "apt")
    for name in ("dev", "proc", "run", "sys", "tmp"):
        (root / name).mkdir(exist_ok=True)
    (root / "var/run").symlink_to("/run")
    (root / "usr/sbin/ovs-vswitchd").symlink_to("../lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")


@contextmanager
def _running(
    place: str,
    start: Callable[[Path], tuple[str | Path, ...]],
    *words: str,
    config: dict[str, str] | None = None,
) -> Iterator[OpenVSwitch]:
    with TemporaryDirectory(prefix="ovs-", dir="/tmp") as name:  # paths of sockets are short
        folder = Path(name)
        switch = OpenVSwitch(folder, place)
        run("ovsdb-tool", "create", folder / "conf.db", SCHEMA, env=switch.env)
        remote = f"--remote=punix:{folder}/db.sock"
        run("ovsdb-server", folder / "conf.db", remote, *_TO_BACKGROUND, env=switch.env)
        try:
            switch.set("--no-wait", "init")
            for key, value in (config or {}).items():
                switch.set("--no-wait", "set", "Open_vSwitch", ".", f'other_config:{key}="{value}"')
            database = f"unix:{folder}/db.sock"
            run(*start(folder), database, *_TO_BACKGROUND, *words, env=switch.env)
            try:
                yield switch
            finally:
                switch.say("-t", "ovs-vswitchd", "exit")
        finally:
            switch.say("-t", "ovsdb-server", "exit")
