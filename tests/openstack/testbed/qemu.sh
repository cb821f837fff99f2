#!/bin/bash
# In the testbed this is /usr/bin/qemu-system-x86_64. libvirt and Nova see a host with KVM and
# vhost-net, and write the domain XML of one; what runs is the real QEMU, which emulates, on plain taps.
arguments=() previous=
for argument; do
    case $previous in
        -accel) [[ $argument == kvm* ]] && argument=tcg ;;
        -netdev) argument=$(sed -E 's/"vhost":true,"vhostfds?":"[0-9:]+",?//; s/,vhost=on,vhostfds?=[0-9:]+//' <<<"$argument") ;;
    esac
    arguments+=("$argument")
    previous=$argument
done
exec -a "$0" /usr/bin/.qemu "${arguments[@]}"
