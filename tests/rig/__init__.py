"""Real guests for the test suite: libvirt domains that boot, and one hypervisor with real vhost.

`conftest.py` offers them as fixtures; `images.py` builds what they boot from.
"""
