"""The name of a cloud -> the cloud: a login, its endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from vnicaudit.errors import TargetError, UsageError
from vnicaudit.platforms.openstack.binding import (
    AUTH_INTERFACE,
    AccessInfo,
    BaseIdentityPlugin,
    CloudRegion,
    SDKException,
    keystone_errors,
)
from vnicaudit.platforms.openstack.configuration import region_of
from vnicaudit.platforms.openstack.failures import configured, login, place
from vnicaudit.platforms.openstack.session import CountingSession
from vnicaudit.platforms.openstack.waiting import TimeUpError, within

T = TypeVar("T")

_LOGIN_ERRORS = (
    keystone_errors.ClientException,
    keystone_errors.ImpliedVersionMismatch,
    SDKException,
)
_CONFIGURATION_ERRORS = (
    keystone_errors.MissingRequiredOptions,
    keystone_errors.NoMatchingPlugin,
)
_KEYSTONE = (3, 0)


class Endpoint(NamedTuple):
    """Where a service is, and the highest microversion it has; None: it has none."""

    url: str
    microversion: tuple[int, int] | None


class Cloud(NamedTuple):
    """A cloud that let us in. ``roles`` are those of the token, in its project."""

    name: str
    region: CloudRegion
    session: CountingSession
    deadline: float
    roles: frozenset[str] = frozenset()
    project: str = ""
    project_name: str = ""

    @property
    def target(self) -> str:
        """What the user calls it."""
        return f"openstack:{self.name}"

    @property
    def admin(self) -> bool:
        """Whether the token has the role that services take for an admin (the default of
        ``context_is_admin``)."""
        return "admin" in self.roles

    def within(self, service: str, function: Callable[[], T]) -> T:
        """What ``function`` returns, its requests counted for ``service``. Raises TimeUpError
        where it takes longer than the deadline."""

        def work() -> T:
            self.session.asking.service = service
            return function()

        return within(self.deadline, service, work)

    def endpoint(self, service: str) -> Endpoint:
        """Where ``compute``, ``image``, ``network`` or ``identity`` is. Raises TargetError where it
        cannot be found or does not answer."""
        try:
            return self.within(service, lambda: _endpoint(self, service))
        except TimeUpError:
            reason = f"no answer within {self.deadline:g} s"
        except (*_LOGIN_ERRORS, OSError) as error:
            reason = login(error)
        raise TargetError(f"the {service} service cannot be reached: {reason}", file=self.target)


def connect(name: str, *, deadline: float) -> Cloud:
    """The cloud of that name, logged in. Raises TargetError with what failed and what to do,
    UsageError where the configuration is wrong."""
    target = f"openstack:{name}"
    region = region_of(name)
    try:
        session = region.get_session()
        if not isinstance(session, CountingSession):  # openstacksdk makes what it is told to
            raise TargetError("openstacksdk ignored session_constructor", file=target)
        # of a socket; the deadline is for all of a request, and comes first
        session.timeout = 2 * deadline
        cloud = Cloud(name, region, session, deadline)
        return cloud.within("identity", lambda: _logged_in(cloud))
    except TimeUpError:
        reason = f"no answer within {deadline:g} s"
    except _CONFIGURATION_ERRORS as error:
        raise UsageError(f"{target}: {configured(error)}") from None
    except (*_LOGIN_ERRORS, OSError) as error:
        reason = login(error)
    auth = region.get_auth_args().get("auth_url")
    where = f" to Keystone at {place(str(auth))}" if auth else ""
    raise TargetError(f"cannot log in{where}: {reason}", file=target)


def _logged_in(cloud: Cloud) -> Cloud:
    auth = cloud.session.auth
    if not isinstance(auth, BaseIdentityPlugin):
        cloud.session.get_auth_headers()
        return cloud
    access: AccessInfo = auth.get_access(cloud.session)
    return cloud._replace(
        roles=frozenset(role.lower() for role in access.role_names or ()),
        project=access.project_id or "",
        project_name=access.project_name or "",
    )


def _endpoint(cloud: Cloud, service: str) -> Endpoint:
    """Keystone is where the login was: its endpoint in the catalogue is often for others. Glance is
    asked for its version 2 unless the configuration says which; for Neutron
    openstacksdk appends ``v2.0`` without asking, as every client does."""
    region = cloud.region
    if service == "identity":
        url = cloud.session.get_endpoint(interface=AUTH_INTERFACE, version=_KEYSTONE)
        return Endpoint(_known(url), None)
    if service == "image" and region.get_api_version("image") is None:
        client = region.get_session_client("image", min_version="2", max_version="2.latest")
    else:
        client = region.get_session_client(service)
    if service != "compute":
        return Endpoint(_known(client.get_endpoint()), None)
    found = client.get_endpoint_data()
    microversion = None if found is None else found.max_microversion
    pair = None if microversion is None else (int(microversion[0]), int(microversion[1]))
    return Endpoint(_known(None if found is None else found.url), pair)


def _known(url: str | None) -> str:
    if url is None:
        raise keystone_errors.EndpointNotFound("no endpoint is known")
    return url.rstrip("/")
