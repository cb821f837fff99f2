#!/bin/bash
# private.sh TESTBED STATE: run inside the namespaces, makes them a machine of its own: loopback, /run, /dev, and
# copies of /etc (with the testbed's configuration in it) and /usr/bin (with a QEMU that emulates KVM)
# that the machine outside never sees.
set -eu
testbed=$1 state=$2

# never on the machine itself
case $(tr '\0' ' ' </proc/1/cmdline) in
    "bash -c while "*) ;;
    *) echo "private.sh: these are not the namespaces of a testbed" >&2; exit 2 ;;
esac

ip link set lo up
mount -t tmpfs run /run
mkdir -p /run/lock /run/libvirt /run/openvswitch /run/mysqld
for folder in /var/{lib,cache,log}/libvirt /var/{lib,log}/openvswitch; do
    mount -t tmpfs private "$folder"
done

# /dev: libvirt asks KVM whether it is there and only opens vhost-net, a copy of /dev/null here (see qemu.sh)
mkdir /run/dev
mount -t tmpfs dev /run/dev
mkdir /run/dev/{net,pts,shm}
for device in null zero full random urandom tty kvm net/tun; do cp -a "/dev/$device" "/run/dev/$device"; done
mknod -m 666 /run/dev/vhost-net c 1 3
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts /run/dev/pts
ln -s pts/ptmx /run/dev/ptmx
ln -s /proc/self/fd /run/dev/fd
mount --bind /dev/shm /run/dev/shm # tests may write there what they hand in
mount --move /run/dev /dev

# the upper layers are in memory: not every file system can be one
qemu=/usr/bin/qemu-system-x86_64
touch /run/qemu
mount --bind "$qemu" /run/qemu
mkdir -p /run/layers
mount -t tmpfs layers /run/layers
mkdir -p /run/layers/{etc,bin}/{upper,work}
mount -t overlay -o "lowerdir=$state/etc:/etc,upperdir=/run/layers/etc/upper,workdir=/run/layers/etc/work" etc /etc
mount -t overlay -o "lowerdir=/usr/bin,upperdir=/run/layers/bin/upper,workdir=/run/layers/bin/work" bin /usr/bin
# QEMU finds its firmware by the place it is started from: it stays in /usr/bin
touch /usr/bin/.qemu
mount --bind /run/qemu /usr/bin/.qemu
install -m 755 "$testbed/qemu.sh" "$qemu.new"
mv "$qemu.new" "$qemu"
install -m 755 "$testbed/sudo.sh" /usr/bin/sudo
rm -f /etc/openvswitch/conf.db
# not emptied: what the machine outside defines from now on would show in the layer below
mkdir -p /etc/libvirt/qemu
mount -t tmpfs private /etc/libvirt/qemu
touch /run/testbed
