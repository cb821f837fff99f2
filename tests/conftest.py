"""What all tests share: the fixtures of the rig (see tests/rig/fixtures.py), and how hypothesis
searches: in CI the same examples each time (fuzzing is what looks for new ones), never by time."""

import os

from hypothesis import settings

pytest_plugins = ("tests.rig.fixtures",)

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")
