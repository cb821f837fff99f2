# Runs inside L1: a vDPA device, /dev/vhost-vdpa-0, whose packets come and go by br0.
# VDUSE asks a process to be the device: DPDK's testpmd, which forwards to a tap and back.
set -e
log=/run/vdpa.log
trap 'tail -n 20 $log >&2' EXIT
modprobe --all vduse vhost_vdpa
testpmd() {
    dpdk-testpmd --no-huge --no-pci -m 256 --lcores 0@0,1@0 \
        -d librte_mempool_ring.so.25 -d librte_net_tap.so.25 -d librte_net_vhost.so.25 \
        --vdev net_vhost0,iface=/dev/vduse/rig,queues=1 --vdev net_tap0,iface=vdpatap \
        -- --total-num-mbufs=8192 --txd=512 --rxd=512 --no-lsc-interrupt --disable-link-check \
        --stats-period 3600
}
# Where packets cannot be delivered it says so for each of them.
{ testpmd 2>&1 | { head -c 100000 >$log; cat; }; } >/dev/null 2>&1 </dev/null &
# Its device cannot be added ("Invalid argument") before it has set up its queues.
timeout 250 sh -c 'until vdpa dev add name rig mgmtdev vduse 2>/dev/null; do sleep 0.1; done'
timeout 250 sh -c 'until [ -e /dev/vhost-vdpa-0 ]; do sleep 0.1; done'
ip link set vdpatap master br0 up
# The thread that forwards polls all the time: it gets only the time that nobody else wants.
cd /proc/$(busybox pidof dpdk-testpmd)/task
threads=$(grep -l dpdk-worker */comm)
for thread in $threads; do chrt --idle --pid 0 "${thread%/comm}"; done
trap - EXIT
