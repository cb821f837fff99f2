#!/bin/busybox sh
# First program of a guest: says on the console which driver serves which NIC, with how many queues,
# then goes on as a guest of the rig (tests/rig/files/guest-init.sh).
/bin/busybox --install -s /usr/bin 2>/dev/null
export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
drivers
for nic in /sys/class/net/*; do
    [ -e "$nic/device/driver" ] || continue
    driver=$(basename "$(readlink "$nic/device/driver")")
    set -- "$nic"/queues/rx-*
    echo "NIC mac=$(cat "$nic/address") driver=$driver queues=$#"
done
umount /dev /sys /proc
exec /init
