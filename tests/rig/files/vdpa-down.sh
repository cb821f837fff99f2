# Runs inside L1: takes down what vdpa-up.sh brought up, as far as it came.
vdpa dev del rig
kill $(busybox pidof dpdk-testpmd)
timeout 250 sh -c 'while busybox pidof dpdk-testpmd >/dev/null; do sleep 0.1; done'
