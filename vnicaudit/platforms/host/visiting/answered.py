"""The devices of a host that was visited, and the readers of this machine's files fed with
it (:mod:`vnicaudit.platforms.host.local`)."""

from __future__ import annotations

import msgspec

from vnicaudit.model.host import Host
from vnicaudit.platforms.host.local import Tree, read_tree
from vnicaudit.platforms.host.readings import HostFact, HostReadings, files_in

_PATHS, _TEXTS = "device paths", "device texts"
_SCRIPT = rf"""
device_paths() {{ # path, NUL, target of a link
    for path in /dev/kvm /dev/vhost-net /dev/vhost-vdpa-* /sys/module/kvm /sys/module/vhost_net \
        /sys/bus/vdpa/devices/* /sys/bus/vdpa/devices/*/driver \
        /sys/bus/vdpa/devices/*/../subsystem /sys/bus/vdpa/devices/*/vhost-vdpa-*
    do
        [ -e "$path" ] || continue
        link=
        [ ! -L "$path" ] || link=$(readlink "$path")
        printf '%s\0%s\n' "$path" "$link"
    done
}}
device_texts() {{ # path, NUL, line
    release=$(uname -r)
    printf '/proc/sys/kernel/hostname\0%s\n' "$(uname -n)"
    printf '/proc/sys/kernel/osrelease\0%s\n' "$release"
    printf '/proc/sys/kernel/arch\0%s\n' "$(uname -m)"
    flags=$(grep -m1 -E '^(flags|[Ff]eatures)' /proc/cpuinfo) &&
        printf '/proc/cpuinfo\0%s\n' "$flags"
    config=$(zcat /proc/config.gz 2>/dev/null | grep -aE '^(# )?CONFIG_VHOST_NET[ =]') &&
        printf '/proc/config.gz\0%s\n' "$config"
    for list in "/lib/modules/$release/modules.dep" "/lib/modules/$release/modules.builtin"; do
        [ ! -r "$list" ] || printf '%s\0%s\n' "$list" "$(grep -aE 'vhost[-_]net\.ko' "$list")"
    done
    if [ -c /dev/kvm ] && [ -d /sys/module/kvm ]; then # opening it would load the module
        if why=$( (: <>/dev/kvm) 2>&1 ); then why=opens; fi
        printf '/dev/kvm\0%s\n' "$why"
    fi
    true
}}
fact '{_PATHS}' device_paths
fact '{_TEXTS}' device_texts
"""


DEVICES = HostFact(  # they are no part of HostFacts, but of the host's configuration
    "devices",
    files=(
        "/sys/module/vhost_net/parameters/experimental_zcopytx",
        "/sys/module/vdpa_sim/parameters/use_va",
    ),
    script=_SCRIPT,
)


class AnsweredTree(Tree):
    """The files of a host that was visited, as far as :data:`DEVICES` asks for them. ``whole``: it
    is no container, in which devices are missing that the host has."""

    def __init__(self, readings: HostReadings, *, whole: bool) -> None:
        super().__init__("/")
        paths = readings.output(_PATHS)
        self._readings = readings
        self._missing = False if whole and paths is not None else None
        self._links = files_in(paths or "")
        self._children: dict[str, list[str]] = {}
        for path in self._links:
            folder, _, name = path.rpartition("/")
            self._children.setdefault(folder, []).append(name)
        self._texts = files_in(readings.output(_TEXTS) or "")

    def text(self, name: str) -> str | None:
        """The content of a file, or the lines of it that matter."""
        found = self._texts.get(name)
        return self._readings.text(name) if found is None else found

    def exists(self, name: str) -> bool | None:
        """True if the path exists."""
        return True if name in self._links else self._missing

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder."""
        return tuple(sorted(self._children.get(folder, ())))

    def link(self, name: str) -> str | None:
        """A symbolic link's target."""
        return self._links.get(name) or None

    def opens(self, name: str) -> bool | None:
        """True if a character device opens; None if permission is denied."""
        said = self._texts.get(name)
        if said is None or "ermi" in said:  # Permission denied, Operation not permitted
            return None
        return said == "opens"


_LONGEST_NAME = 255


def host_in(readings: HostReadings, *, whole: bool) -> Host | None:
    """The host that was visited; None if it does not say its name."""
    tree = AnsweredTree(readings, whole=whole)
    name = (tree.text("/proc/sys/kernel/hostname") or "").strip()[:_LONGEST_NAME]
    if not name or not tree.text("/proc/sys/kernel/arch"):
        return None
    declared = read_tree(tree)
    if not whole:
        declared = msgspec.structs.replace(declared, kvm=declared.kvm or None)
    return Host(name, declared)
