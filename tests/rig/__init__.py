"""Real guests for the test suite: libvirt domains that boot, and a hypervisor with real vhost.

`conftest.py` offers them as fixtures. They need root and the packages of
`scripts/packages/rig.apt`; what they boot is built on first use, from Debian's archive.

VNICAUDIT_RIG         folder for builds and session files, default /var/tmp/vnicaudit-rig
VNICAUDIT_RIG_MIRROR  address of a Debian archive, default: the one in this machine's apt sources
CI=true               a test that cannot be run fails instead of being skipped
"""
