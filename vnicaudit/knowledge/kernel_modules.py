"""Modules of the kernel that guests' NICs need, and how one is seen, loaded and unloaded.

Sources: modprobe(8) and rmmod(8) of kmod 34: `modprobe -r` also unloads what a module depends on,
where nothing else uses that (``tun``), while `rmmod` leaves it. modules-load.d(5). The kernel
unloads no module that is in use. vhost_net has a parameter, so that /sys/module names it also where
it is built in (kernel/params.c of Linux 6.18); its device appears with it (devtmpfs).
"""

from __future__ import annotations

MODULES = {"vhost_net": "/dev/vhost-net"}
"""Those that are loaded here, each with the device by which programs use it."""
LOADED, NOT_LOADED = "loaded", "not loaded"
SEE = rf"""
kernel_modules() {{ # a name, and whether it is loaded; none that this kernel does not have
    [ -d /sys/module ] || return 1
    for name in {" ".join(MODULES)}; do
        if [ -d "/sys/module/$name" ]; then
            echo "$name {LOADED}"
        elif grep -qs "^[^:]*/$name\.ko[.:]" "/lib/modules/$(uname -r)/modules.dep"; then
            echo "$name {NOT_LOADED}"
        fi
    done
}}
fact modules kernel_modules
"""
SET = rf"""
[ "$1" = {LOADED} ] && exec modprobe "$2"
why=$(rmmod "$2" 2>&1) && exit
users=
for process in $(find /proc/[0-9]*/fd -lname "$3" 2>/dev/null | cut -d/ -f3 | sort -un); do
    users="$users${{users:+, }}$(cat "/proc/$process/comm") ($process)"
done
echo "$2 stays loaded${{users:+, as it is used by $users}}: $why" >&2
exit 1
"""
"""Its arguments: what it is to be, the name, and the device."""
