"""Where Open vSwitch's programs are on a host: lines of shell that find them.

Source of the containers' names: roles openvswitch and ovs-dpdk of Kolla Ansible at 1a681814e.
"""

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
