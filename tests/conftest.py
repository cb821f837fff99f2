"""What all tests share: the fixtures of the rig (see tests/rig/fixtures.py)."""

pytest_plugins = ("tests.rig.fixtures",)
