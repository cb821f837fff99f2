"""Where ``nova-manage image_property set`` does not reach in an older Nova: the request
specification.

Before 30.0 it changed the server's own copy of the properties alone (Launchpad bug 2078999; put
right by 2a1fad4145, also in 29.2.1 and 28.3.1: nova/cmd/manage.py of all releases from 25.3.0). A
resize and a cold migration take ``request_spec.image``
(nova/conductor/tasks/migrate.py, Nova 34.0.0); an evacuation takes the server's own copy
(``instance.image_meta`` in nova/compute/manager.py). So does a hard reboot, as seen on a real Nova
29.0.2: it brings back what was set, which ``image_property show`` says all the time.
"""

from __future__ import annotations

COMES_BACK = (
    "unless this Nova has the fix of Launchpad bug 2078999 (28.3.1, 29.2.1, 30.0), a resize or "
    "cold migration brings the old value back, until the server is rebooted hard: do that after one"
)
