"""What is read of nova.conf, against the Nova of the testbed: random folders, every value."""

from collections.abc import Callable

import pytest

from tests.conformance.nova import compare
from tests.drawing import drawn_seed
from tests.openstack import packages
from tests.openstack.cloud import Cloud
from tests.openstack.running import folder

FOLDERS = 500


@pytest.mark.openstack
def test_every_value_and_every_refusal_is_that_of_nova(
    cloud: Cloud, record_property: Callable[[str, object], None]
) -> None:
    del cloud  # its packages are there when it is
    seed = drawn_seed()
    record_property("drawn", f"seed {seed}")
    python = packages.installed(folder()) / "bin/python"
    found, seen = compare(str(python), FOLDERS, seed)
    assert found == [], f"seed {seed}"
    assert seen["compared"] > FOLDERS
    assert seen["refused"] > FOLDERS
    assert seen["does not start"]
