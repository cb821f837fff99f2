#!/bin/busybox sh
# Loads the drivers that a guest always has, and those of the NICs that it has now: all that there are
# would take an emulated CPU a second.
# shellcheck disable=SC2046 # words: names of modules, and what devices are
modprobe -a $(cat /etc/modules /sys/bus/pci/devices/*/modalias) 2>/dev/null
