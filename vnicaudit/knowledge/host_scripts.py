"""Lines of shell that run on hosts: they see, load and unload modules of the kernel that guests'
NICs need, and find the programs of Open vSwitch.

Sources: modprobe(8) and rmmod(8) of kmod 34: `modprobe -r` also unloads what a module depends on,
where nothing else uses that (``tun``), while `rmmod` leaves it. modules-load.d(5). The kernel
unloads no module that is in use. vhost_net has a parameter, so that /sys/module names it also where
it is built in (kernel/params.c of Linux 6.18); its device appears with it (devtmpfs). Names of
containers: roles openvswitch and ovs-dpdk of Kolla Ansible at 1a681814e.
"""

from __future__ import annotations

MODULES = {"vhost_net": "/dev/vhost-net"}
"""Those that are loaded here, each with the device by which programs use it."""
LOADED, NOT_LOADED = "loaded", "not loaded"
SEE_MODULES = rf"""
kernel_modules() {{ # a name, and whether it is loaded; none that this kernel does not have
    [ -d /sys/module ] || return 1
    for name in {" ".join(MODULES)}; do
        if [ -d "/sys/module/$name" ]; then
            echo "$name {LOADED}"
        elif grep -qs "^[^:]*/$name\.ko[.:]" "/lib/modules/$(uname -r)/modules.dep"; then
            echo "$name {NOT_LOADED}"
        fi
    done
}}
fact modules kernel_modules
"""
SET_MODULE = rf"""
[ "$1" = {LOADED} ] && exec modprobe "$2"
why=$(rmmod "$2" 2>&1) && exit
users=
for process in $(find /proc/[0-9]*/fd -lname "$3" 2>/dev/null | cut -d/ -f3 | sort -un); do
    users="$users${{users:+, }}$(cat "/proc/$process/comm") ($process)"
done
echo "$2 stays loaded${{users:+, as it is used by $users}}: $why" >&2
exit 1
"""
"""Its arguments: what it is to be, the name, and the device."""

FIND_OVS = r"""
runs() { grep -qs '^ovs-vswitchd' /proc/[0-9]*/comm; }
ovs=none
if ! command -v ovs-vsctl >/dev/null || [ ! -S "${OVS_RUNDIR:-/run/openvswitch}/db.sock" ]; then
    for each in /snap/bin/openstack-hypervisor. /snap/bin/microovn.; do
        [ ! -x "${each}ovs-vsctl" ] || ovs=$each
    done
    if [ "$ovs" = none ] && runs; then # else a socket of systemd could start a docker that is off
        ovs=
        for each in docker podman; do
            for container in openvswitch_vswitchd ovsdpdk_vswitchd; do
                [ "$ovs" = "" ] && command -v "$each" >/dev/null &&
                    limited "$each" inspect "$container" >/dev/null 2>&1 &&
                    ovs="$each exec $container "
            done
        done
    fi
else
    ovs=
fi
""".strip()
"""Sets ``ovs`` to what stands before the names of its programs: nothing, a snap, a container of
Kolla. It is ``none`` if its database has no socket and no process has its name, whatever is
installed. ``limited``, a function of whoever uses the lines, bounds the time of a program."""
