#!/bin/busybox sh
# First program of a rig guest: drivers, network devices, DNS server, guest agent.
# Words it knows on the kernel command line (see Definition in domain_xml.py):
#   rig.root=DEVICE       hand over to the system on that disk (L1)
#   rig.ip=ADDRESS/LENGTH on the NIC with rig.mac=MAC (without it: eth0); then nsd answers there
#   rig.gw=ADDRESS        default route
#   rig.without=NAME,...  drivers this guest does not have
#   rig.noagent           no guest agent is started
#   rig.deaf              whoever asks it to shut down is not heard
/bin/busybox --install -s /usr/bin 2>/dev/null
export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for word in $(cat /proc/cmdline); do
    case $word in
        rig.root=*) root=${word#*=} ;;
        rig.ip=*) address=${word#*=} ;;
        rig.mac=*) mac=${word#*=} ;;
        rig.gw=*) gateway=${word#*=} ;;
        rig.without=*) without=${word#*=} ;;
        rig.noagent) agent=no ;;
        rig.deaf) deaf=yes ;;
    esac
done

for module in $(echo "$without" | tr , ' '); do
    sed -i "/^$module\$/d" /etc/modules
    rm $(find /usr/lib/modules -name "$(echo "$module" | tr _ '?').ko")
done
drivers

if [ -n "$root" ]; then
    modprobe -a $(cat /etc/modules.disk)
    until [ -b "$root" ]; do sleep 0.1; done
    mount -t ext4 -o noatime "$root" /disk
    umount /sys /proc
    mount --move /dev /disk/dev
    exec switch_root /disk /usr/local/sbin/rig-init
fi

mkdir -p /dev/pts /dev/virtio-ports
mount -t devpts devpts /dev/pts

nic=eth0
for device in /sys/class/net/*; do
    device=${device##*/}
    ip link set "$device" up
    [ "$(cat "/sys/class/net/$device/address")" = "$mac" ] && nic=$device
done
if [ -n "$address" ]; then
    ip address add "$address" dev "$nic"
    [ -n "$gateway" ] && ip route add default via "$gateway"
    mkdir -p /var/lib/nsd # where releases before 4.8 keep a database
    nsd -c /etc/nsd.conf
fi

# A power button is heard on x86 only; s390x tells the kernel, which ends by itself or tells init.
if [ -n "$deaf" ]; then
    trap '' INT
    echo 0 >/proc/sys/kernel/ctrl-alt-del
else
    for name in $(grep -l '^Power Button$' /sys/class/input/input*/name 2>/dev/null); do
        event=$(echo "${name%name}"event*)
        (dd if="/dev/input/${event##*/}" of=/dev/null bs=24 count=1 && poweroff -f) 2>/dev/null &
    done
fi

if [ -n "$agent" ]; then
    echo "rig guest is up, without an agent"
    while :; do sleep 3600; done
fi
# There is no udev to name the agent's port.
until name=$(grep -l org.qemu.guest_agent.0 /sys/class/virtio-ports/*/name); do sleep 0.1; done
port=$(basename "$(dirname "$name")")
echo "rig guest is up, agent on $port"
while :; do
    qemu-ga --method=virtio-serial --path="/dev/$port" --statedir=/run
    sleep 1
done
