#!/bin/busybox sh
# First program of a rig guest: drivers, network devices, guest agent.
# With rig.root=DEVICE on the kernel command line it hands over to the system on that disk.
/bin/busybox --install -s /usr/bin 2>/dev/null
export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do modprobe "$module"; done </etc/modules

root=$(sed -n 's/.*rig\.root=\([^ ]*\).*/\1/p' /proc/cmdline)
if [ -n "$root" ]; then
    until [ -b "$root" ]; do sleep 0.1; done
    mount -t ext4 -o noatime "$root" /disk
    umount /sys /proc
    mount --move /dev /disk/dev
    exec switch_root /disk /usr/local/sbin/rig-init
fi

mkdir -p /dev/pts /dev/virtio-ports
mount -t devpts devpts /dev/pts
for device in /sys/class/net/*; do ip link set "$(basename "$device")" up; done

# There is no udev to name the agent's port.
until name=$(grep -l org.qemu.guest_agent.0 /sys/class/virtio-ports/*/name); do sleep 0.1; done
port=$(basename "$(dirname "$name")")
echo "rig guest is up, agent on $port"
while :; do
    qemu-ga --method=virtio-serial --path="/dev/$port" --statedir=/run
    sleep 1
done
