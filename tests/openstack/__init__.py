"""A real OpenStack for the test suite: Nova, Neutron, Glance, Keystone, Placement, real guests.

`conftest.py` offers it as fixtures. It needs root and the packages of `scripts/packages/rig.apt`
and `openstack.apt`; its Python packages are those of `testbed/packages.lock`. README.md says how
it works.

VNICAUDIT_OPENSTACK       folder for its packages and its state, by default
                          /var/tmp/vnicaudit-openstack
VNICAUDIT_OPENSTACK_NOVA  29 or 24: that release of Nova among the other services
VNICAUDIT_OPENSTACK_KEEP  set: it goes on running, and the next session uses it
VNICAUDIT_RIG             folder for the image that its guests boot (see tests/rig)
CI=true                   a test that cannot be run fails instead of being skipped
"""
