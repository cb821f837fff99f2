"""Where ``nova-manage image_property set`` does not reach in an older Nova: the request
specification.

Before 30.0 it changed the server's own copy of the properties alone (Launchpad bug 2078999; put
right by 2a1fad4145). A resize and a cold migration take ``request_spec.image``
(nova/conductor/tasks/migrate.py, Nova 34.0.0); an evacuation takes the server's own copy
(``instance.image_meta`` in nova/compute/manager.py).
"""

from __future__ import annotations

COMES_BACK = (
    "unless this Nova has the fix of Launchpad bug 2078999 (30.0, and backports), a resize or cold "
    "migration brings the old value back: audit again after one"
)
