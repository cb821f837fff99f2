"""The cloud's APIs, asked from outside its namespaces."""

import importlib
from collections.abc import Mapping
from typing import Any

from tests.openstack.namespaces import Namespaces
from tests.rig.errors import Missing


class Api:
    """openstacksdk's proxies of the cloud's services, for one user."""

    def __init__(self, namespaces: Namespaces, credentials: Mapping[str, str]) -> None:
        self._connection = _connect(namespaces, credentials)

    @property
    def compute(self) -> Any:
        return self._connection.compute

    @property
    def identity(self) -> Any:
        return self._connection.identity

    @property
    def image(self) -> Any:
        return self._connection.image

    @property
    def network(self) -> Any:
        return self._connection.network


def _connect(namespaces: Namespaces, credentials: Mapping[str, str]) -> Any:
    try:
        connection = importlib.import_module("openstack.connection")
    except ImportError as error:
        raise Missing(f"openstacksdk cannot be imported ({error})") from error
    v3 = importlib.import_module("keystoneauth1.identity.v3")
    session = importlib.import_module("keystoneauth1.session")
    password = v3.Password(
        credentials["OS_AUTH_URL"],
        username=credentials["OS_USERNAME"],
        password=credentials["OS_PASSWORD"],
        project_name=credentials["OS_PROJECT_NAME"],
        user_domain_id="default",
        project_domain_id="default",
    )
    http = session.Session(auth=password, session=_inside(namespaces))
    return connection.Connection(session=http, region_name="RegionOne")


def _inside(namespaces: Namespaces) -> Any:
    """A session of requests whose connections are made in the cloud's network."""
    adapter = importlib.import_module("requests.adapters").HTTPAdapter()
    send = adapter.send

    def send_inside(*arguments: Any, **named: Any) -> Any:
        with namespaces.network():
            return send(*arguments, **named)

    adapter.send = send_inside
    session = importlib.import_module("requests").Session()
    session.trust_env = False
    session.mount("http://", adapter)
    return session
