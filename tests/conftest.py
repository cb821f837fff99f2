"""What all tests share: the fixtures of the rig and of the OpenStack testbed, and how hypothesis
searches: in CI the same examples each time (fuzzing is what looks for new ones), never by time."""

import os

from hypothesis import settings

pytest_plugins = ("tests.openstack.fixtures", "tests.rig.fixtures")

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")
