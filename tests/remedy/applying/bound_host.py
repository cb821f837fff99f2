"""A host for settings of every kind: a mount and a network namespace of this machine, with a real
veth, a real Open vSwitch without a datapath, and files made by hand in place of those of /proc,
/sys and /etc. It is read by modules of testinfra, each command of which runs there.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from testinfra.backend import get_backend
from testinfra.host import Host

from tests.not_run import not_run
from tests.remedy.applying.fakes import Stage
from tests.remedy.applying.settings_host import steps_to
from tests.rig.open_vswitch import OpenVSwitch
from vnicaudit.knowledge.host_settings import KEEPING
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.runs import UnitRun
from vnicaudit.platforms.host.visiting import settings
from vnicaudit.reaching.opening import OpenPlace, open_place
from vnicaudit.reaching.process import TransportOutput
from vnicaudit.remedy.applying.history import runs

TARGET = "ssh://kvm1"
LINK = "osa0"
_LINK_FILES = ("address", "flags", "mtu", "queues", "tx_queue_len")
_DEVICE = f"net/{LINK}/device"
_BOUND = {
    "core": "/proc/sys/net/core",
    "irq": "/proc/irq",
    "interrupts": "/proc/interrupts",
    "debug": "/sys/kernel/debug",
    "bus": "/sys/bus",
    "net": "/sys/class/net",
    "module": "/sys/module",
    "cpu": "/sys/devices/system/cpu",
    "node0": "/sys/devices/system/node/node0",
    "run": "/run",
    **{f"etc/{path.removeprefix('/etc/')}": path for path in KEEPING},
}
_IN_CORE = {
    "netdev_max_backlog": "1000\n",
    "rps_sock_flow_entries": "0\n",
    "netdev_budget": "300\n",
    "netdev_budget_usecs": "8000\n",
}
_FILES = {
    "debug/sched/migration_cost_ns": "500000\n",
    f"{_DEVICE}/if_name": f"{LINK}\n",
    f"{_DEVICE}/online": "1\n",
    f"{_DEVICE}/buffer_count": "64\n",
    f"{_DEVICE}/vnicc/flooding": "0\n",
    f"{_DEVICE}/vnicc/learning": "0\n",
    "irq/41/smp_affinity_list": "0-1\n",
    "irq/42/smp_affinity_list": "0\n",
    "interrupts": f"  CPU0 CPU1\n 41: 5 6 MSI {LINK}-TxRx-0\n 42: 5 6 MSI {LINK}-TxRx-1\n",
    "cpu/online": "0-1\n",
    "cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
    "cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "node0/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    "node0/hugepages/hugepages-2048kB/free_hugepages": "0\n",
}
_OF_ADAPTER = {"ring-rx": "256", "ring-tx": "512", "rx_striding_rq": "on"}
_LINKS = {
    "bus/ccwgroup/drivers/qeth/0.0.f500": f"/sys/class/{_DEVICE}",
    f"{_DEVICE}/driver": "mlx5_core",
    **{f"net/{LINK}/{name}": f"/sys/devices/virtual/net/{LINK}/{name}" for name in _LINK_FILES},
}
# FAKE: rings and a private flag, which a veth has not. As virtio's, the driver chooses anew where
# interrupts are served when the channels change (virtnet_set_affinity).
_ETHTOOL = f"""#!/bin/sh
cd {{tree}}/adapter || exit
real() {{{{ {{ethtool}} "$@"; }}}}
case "$1 ${{{{2:-}}}}" in
    "-g "*)
        printf '%s\\n' 'Ring parameters for {LINK}:' 'Pre-set maximums:' 'RX: 1024' 'TX: 1024'
        printf 'Current hardware settings:\\nRX:\\t\\t%s\\nTX:\\t\\t%s\\n' $(cat ring-rx ring-tx) ;;
    "-G {LINK}") echo "$4" >"ring-$3" ;;
    "--show-priv-flags {LINK}")
        printf 'Private flags for {LINK}:\\nrx_striding_rq : %s\\n' "$(cat rx_striding_rq)" ;;
    "--set-priv-flags {LINK}") echo "$4" >"$3" ;;
    "-L {LINK}") real "$@" && for irq in 41 42; do echo 1 >/proc/irq/$irq/smp_affinity_list; done ;;
    *) real "$@" ;;
esac
"""
_PROGRAMS = {
    "ethtool": _ETHTOOL,
    "modprobe": '#!/bin/sh\nmkdir "/sys/module/$1"\n',
    "rmmod": '#!/bin/sh\nrmdir "/sys/module/$1"\n',
}
_START = f"""
queues='numtxqueues 4 numrxqueues 4'
ip link add {LINK} address 52:54:00:00:00:09 $queues type veth peer name osa1 $queues || exit
mount -t sysfs s /sys || exit
for name in etc usr/lib; do
    mount -t overlay o -o "lowerdir=$1/$name:/$name" "/$name" || exit
done
tree=$1; shift
for name; do mount --bind "$tree/${{name%%=*}}" "${{name#*=}}" || exit; done
echo ready
exec sleep infinity
"""


class _Place:
    """The product's way there."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words, self._inner = words, open_place("local")

    def run(self, argv: Sequence[str], seconds: float) -> TransportOutput:
        ran = self._inner.run((*self._words, *argv), seconds=seconds)
        return TransportOutput(ran.code or 0, ran.stdout.encode(), ran.stderr.encode())

    def close(self) -> None:
        self._inner.close()


class BoundHost:
    """It runs; ``stage``: the program that changes it."""

    def __init__(
        self, folder: Path, words: Sequence[str], switch: OpenVSwitch, patch: pytest.MonkeyPatch
    ) -> None:
        self.switch = switch
        self.eye = _eye(words)
        for name, value in switch.env.items():
            patch.setenv(name, value)
        opened = OpenPlace(TARGET, _Place(words))
        patch.setattr(settings, "open_place", lambda _url: opened)
        patch.setattr(settings.SettingsPlace, "is_of_container", lambda *_given: False)
        self.stage = Stage(folder / "state")
        self.place = self.stage.adapters.host(TARGET, 30)

    def facts(self) -> HostFacts:
        return self.place.facts()

    def seen(self) -> str:
        """All of it, to the byte, by modules of testinfra."""
        eye, net = self.eye, f"/sys/class/net/{LINK}"
        say = (f"ethtool {option} {LINK}" for option in ("-k", "-g", "-l", "--show-priv-flags"))
        columns = "ovs-vsctl --columns=name,options,mtu_request,mtu list Interface"
        config = "ovs-vsctl get Open_vSwitch . other_config"
        commands = (config, columns, f"ip -d link show dev {LINK}", *say)
        queues = eye.run("grep -r . %s/queues/", net).stdout
        found = {
            "interface": eye.interface(LINK).exists,
            "module": eye.file("/sys/module/vhost_net").is_directory,
            "queues": sorted(queues.splitlines()),
            "kept": {path: sorted(eye.file(path).listdir()) for path in KEEPING},
            "sysctl": {name: eye.sysctl(f"net.core.{name}") for name in _IN_CORE},
            "files": {
                name: eye.file(f"{_BOUND[first]}{slash}{rest}").content_string.strip()
                for name in _FILES
                for first, slash, rest in [name.partition("/")]
            },
        }
        said = [eye.check_output(command) for command in commands]
        return "\n".join((*said, json.dumps(found, indent=1)))

    def apply(self, values: dict[str, str], plan: str = "plan", *, keeps: bool = False) -> UnitRun:
        """Set these; ``keeps``: also beyond the next boot, where a file does."""
        steps = steps_to(self.facts(), TARGET, values)[: 2 if keeps else 1]
        (unit,) = self.stage.apply(steps, self.stage.context(), plan.encode()).run.steps
        return unit

    def undo(self) -> str:
        (back,) = self.stage.rollback(self.stage.context(), run=runs(str(self.stage.folder))[0].id)
        return f"{back.run.steps[0].outcome} {back.run.steps[0].message}"


def _eye(words: Sequence[str]) -> Host:
    backend = get_backend("local://")

    def get_command(command: str, *args: str) -> str:
        return shlex.join((*words, "sh", "-c", backend.quote(command, *args)))

    backend.get_command = get_command
    backend.set_host(eye := Host(backend))
    return eye


@contextmanager
def bound_host(folder: Path, switch: OpenVSwitch, patch: pytest.MonkeyPatch) -> Iterator[BoundHost]:
    """A running one."""
    if (ethtool := shutil.which("ethtool")) is None:
        not_run("tests", "ethtool is not installed")
    tree = folder / "tree"
    _make(tree, ethtool)
    bound = [f"{name}={path}" for name, path in _BOUND.items()]
    words = ["unshare", "-mn", "sh", "-c", _START, "sh", str(tree), *bound]
    with subprocess.Popen(words, stdout=-1, stderr=-1, text=True) as holder:
        try:
            if holder.stdout is None or holder.stdout.readline() != "ready\n":
                why = holder.communicate(timeout=30)[1]
                not_run("tests", f"mounts of one process need root: {why.strip()}")
            path = f"PATH={tree}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            yield BoundHost(
                folder, ("nsenter", "-t", str(holder.pid), "-m", "-n", "env", path), switch, patch
            )
        finally:
            holder.kill()


def _make(tree: Path, ethtool: str) -> None:
    release = subprocess.run(["uname", "-r"], check=True, capture_output=True, text=True).stdout
    files = {
        **{f"core/{name}": text for name, text in _IN_CORE.items()},
        **_FILES,
        **{f"adapter/{name}": f"{text}\n" for name, text in _OF_ADAPTER.items()},
        **{
            f"bin/{name}": text.format(tree=tree, ethtool=ethtool) if name == "ethtool" else text
            for name, text in _PROGRAMS.items()
        },
        f"usr/lib/modules/{release.strip()}/modules.dep": "kernel/drivers/vhost/vhost_net.ko:\n",
    }
    for name in ("run", "module", *(path[1:] for path in KEEPING)):
        (tree / name).mkdir(parents=True)
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.startswith("bin/") else 0o644)
    for name, to in _LINKS.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(to)
