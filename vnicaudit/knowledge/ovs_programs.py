"""Where Open vSwitch's programs are on a host: lines of shell that find them."""

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
            [ "$ovs" = "" ] && command -v "$each" >/dev/null &&
                limited "$each" inspect openvswitch_vswitchd >/dev/null 2>&1 &&
                ovs="$each exec openvswitch_vswitchd "
        done
    fi
else
    ovs=
fi
""".strip()
"""Sets ``ovs`` to what stands before the names of its programs: nothing, a snap, a container of
Kolla. It is ``none`` if its database has no socket and no process has its name, whatever is
installed. ``limited``, a function of whoever uses the lines, bounds the time of a program."""
