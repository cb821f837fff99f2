"""A cloud on this machine, and a clouds.yaml that names it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import PASSWORD, FakeCloud, serve

CLOUD = """\
  {name}:
    region_name: RegionOne
    auth:
      auth_url: {url}/identity/v3
      username: {name}
      password: {password}
      project_name: {name}
      user_domain_id: default
      project_domain_id: default
"""


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No configuration of OpenStack anywhere; a place for a clouds.yaml."""
    from openstack.config import loader

    for name in [each for each in os.environ if each.startswith("OS_")]:
        monkeypatch.delenv(name)
    # openstacksdk works them out when it is imported
    monkeypatch.setattr(loader, "CONFIG_FILES", [])
    monkeypatch.setattr(loader, "SECURE_FILES", [])
    return tmp_path


@pytest.fixture
def cloud(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    """The clouds ``admin`` and ``demo``."""
    for running in serve(FakeCloud()):
        entries = (
            CLOUD.format(name=name, url=running.url, password=PASSWORD) for name in running.users
        )
        file = nowhere / "clouds.yaml"
        file.write_text("clouds:\n" + "".join(entries), "utf-8")
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
        yield running
