#!/bin/bash
# First program of L1: what systemd would do, as far as libvirt, KVM and vhost need it.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root
mount -t proc proc /proc
grep -qw rig.systemd /proc/cmdline && exec /sbin/init # a host: see host.py
mount -t sysfs sysfs /sys
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /dev/shm /run/lock /run/libvirt
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup

hostname l1
modprobe --all bridge tun kvm_amd vhost_net
ip link set lo up
# With a MAC of its own br0 does not take that of whatever joins it.
ip link add br0 address 52:54:00:00:00:01 type bridge
ip address add 10.199.0.1/24 dev br0
ip link set br0 up

virtlogd --daemon
libvirtd --daemon

until name=$(grep -l org.qemu.guest_agent.0 /sys/class/virtio-ports/*/name); do sleep 0.1; done
port=$(basename "$(dirname "$name")")
echo "L1 is up, agent on $port"
while :; do
    qemu-ga --method=virtio-serial --path="/dev/$port" --statedir=/run
    sleep 1
done
