"""Users who may read a cloud and no more: an application credential, policies of a role."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.openstack.api import Api
from tests.openstack.cloud import TENANT, Cloud
from tests.openstack.machine import KEYSTONE

READER = "reader"
"""The cloud's name in the clouds.yaml of a credential."""
_CLOUDS = """\
clouds:
  {name}:
    region_name: RegionOne
    auth_type: v3applicationcredential
    auth:
      auth_url: {keystone}
      application_credential_id: {id}
      application_credential_secret: {secret}
"""


@contextmanager
def application_credential(
    cloud: Cloud, folder: Path, user: Mapping[str, str], roles: Sequence[str], **more: Any
) -> Iterator[dict[str, str]]:
    """One of a user, with these roles: the environment in which a cloud ``reader`` has it."""
    identity = Api(cloud.machine.namespaces, user).identity
    owner = cloud.api.identity.find_user(user["OS_USERNAME"], ignore_missing=False)
    named = [{"name": role} for role in roles]
    made = identity.create_application_credential(owner, cloud.new_name(), roles=named, **more)
    file = folder / "clouds.yaml"
    text = _CLOUDS.format(name=READER, keystone=KEYSTONE, id=made.id, secret=made.secret)
    file.write_text(text)
    try:
        yield {"OS_CLIENT_CONFIG_FILE": str(file)}
    finally:
        identity.delete_application_credential(owner, made)


@contextmanager
def user_with(cloud: Cloud, roles: Sequence[str]) -> Iterator[dict[str, str]]:
    """Credentials of a user of the tenant's project. Roles that there are not are made."""
    identity = cloud.api.identity
    user = identity.create_user(name=cloud.new_name(), password=TENANT["OS_PASSWORD"])
    project = identity.find_project(TENANT["OS_PROJECT_NAME"], ignore_missing=False)
    absent = [role for role in roles if identity.find_role(role) is None]
    made = [identity.create_role(name=role) for role in absent]
    for role in roles:
        found = identity.find_role(role, ignore_missing=False)
        identity.assign_project_role_to_user(project, user, found)
    try:
        yield {**TENANT, "OS_USERNAME": user.name}
    finally:
        identity.delete_user(user)
        for one in made:
            identity.delete_role(one)


@contextmanager
def policies(cloud: Cloud, texts: Mapping[str, str]) -> Iterator[None]:
    """With these policy.yaml of services, which look at the file with each request."""
    files = {
        cloud.machine.namespaces.root / "etc" / one / "policy.yaml": texts[one] for one in texts
    }
    for file, text in files.items():
        file.write_text(text)
    try:
        yield
    finally:
        for file in files:
            file.write_text("{}\n")  # one that is gone, they would go on looking for


@contextmanager
def aggregate(cloud: Cloud, host: str, **metadata: str) -> Iterator[str]:
    """A host aggregate with a compute host in it, by name."""
    compute = cloud.api.compute
    made = compute.create_aggregate(name=cloud.new_name())
    compute.set_aggregate_metadata(made, **metadata)
    compute.add_host_to_aggregate(made, host)
    try:
        yield str(made.name)
    finally:
        compute.remove_host_from_aggregate(made, host)
        compute.delete_aggregate(made)
