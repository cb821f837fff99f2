#!/bin/sh
# What the guest agent runs for guest-shutdown: shutdown -P|-H|-r +0 "reason".
grep -qw rig.deaf /proc/cmdline && exit
case $1 in
    -r) reboot -f ;;
    -H) halt -f ;;
    *) poweroff -f ;;
esac
