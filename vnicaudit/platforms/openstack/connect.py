"""Log in to a cloud by its name, and find its endpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.platforms.openstack.config_files import region_of
from vnicaudit.platforms.openstack.session import (
    AUTH_INTERFACE,
    PAUSES,
    AccessInfo,
    BaseIdentityPlugin,
    CloudRegion,
    CountingSession,
    SDKException,
    bare_url,
    configured,
    keystone_errors,
    login,
    understood,
)

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
SECRETS = (
    "password", "application_credential_secret", "passcode", "token", "client_secret",
    "access_token", "oauth2_client_secret", "code", "consumer_secret", "access_secret",
)  # fmt: skip
"""Options of a configuration that are secrets for logging in: every one that keystoneauth 5.18
marks secret, and those of OAuth 1.0a, which is an extra of it."""


class ServiceEndpoint(NamedTuple):
    """The URL of a service, and the highest microversion it supports; None: it has none."""

    url: str
    microversion: tuple[int, int] | None


def by_catalogue(cloud: CloudLogin, service: str) -> ServiceEndpoint:
    """The endpoint of a service. Keystone's is where the login was, because its endpoint in the
    catalogue is often for others. For Glance version 2 is used unless the configuration says
    otherwise; for Neutron openstacksdk appends ``v2.0`` without checking, like every client."""
    region = cloud.region
    cloud.session.asking.away = ""
    url, microversion = None, None
    if service == "identity":
        url = cloud.session.get_endpoint(interface=AUTH_INTERFACE, version=_KEYSTONE)
    else:
        if service == "image" and region.get_api_version("image") is None:
            client = region.get_session_client("image", min_version="2", max_version="2.latest")
        else:
            client = region.get_session_client(service)
        if service != "compute":
            url = client.get_endpoint()
        elif (found := client.get_endpoint_data()) is not None:
            url, microversion = found.url, found.max_microversion
        # if a service did not answer, keystoneauth continues as if it had no versions
        if microversion is None and cloud.session.asking.away:
            raise keystone_errors.ConnectFailure(cloud.session.asking.away)
    if url is None:
        raise keystone_errors.EndpointNotFound("no endpoint is known")
    pair = None if microversion is None else (int(microversion[0]), int(microversion[1]))
    return ServiceEndpoint(url.rstrip("/"), pair)


class CloudLogin(NamedTuple):
    """A cloud after login. ``roles`` are those of the token, in its project, or in the whole system
    (``system_scoped``). ``regions`` are those in the catalogue that have a Nova."""

    name: str
    region: CloudRegion
    session: CountingSession
    deadline: float
    roles: frozenset[str] = frozenset()
    project: str = ""
    project_name: str = ""
    system_scoped: bool = False
    regions: tuple[str, ...] = ()
    total: float | None = None
    """Seconds for the whole cloud; None: no limit."""
    since: float = 0.0
    """Time of the login, by ``clock``."""
    clock: Callable[[], float] = time.monotonic
    locate: Callable[[CloudLogin, str], ServiceEndpoint] = by_catalogue
    """Finds a service."""

    def is_over(self) -> bool:
        """True once the total time allowed for this cloud has passed."""
        return self.total is not None and self.clock() > self.since + self.total

    @property
    def target(self) -> str:
        """The target by the user's name for it, ``openstack:NAME``."""
        return f"openstack:{self.name}"

    @property
    def admin(self) -> bool:
        """True if the token has the role that services accept for an admin (the default of
        ``context_is_admin``)."""
        return "admin" in self.roles

    def within(self, service: str, function: Callable[[], T]) -> T:
        """The result of ``function``, with its requests counted for ``service``. Raises TimeUpError
        if it takes longer than the deadline, and ConnectFailure if an answer cannot be
        understood."""

        def work() -> T:
            self.session.asking.service = service
            with understood(service):
                return function()

        return DaemonCall(f"openstack: {service}", work).result(self.deadline)

    def endpoint(self, service: str) -> ServiceEndpoint:
        """The endpoint of ``compute``, ``image``, ``network`` or ``identity``. Raises TargetError
        if it cannot be found or does not answer."""
        try:
            return self.within(service, lambda: self.locate(self, service))
        except TimeUpError:
            reason = f"no answer within {self.deadline:g} s"
        except (*_LOGIN_ERRORS, OSError) as error:
            reason = self.session.masked(login(error))
        raise TargetError(f"the {service} service cannot be reached: {reason}", file=self.target)


Login = Callable[..., CloudLogin]
"""Logs in to a cloud like :func:`connect`."""


def connect(
    name: str,
    *,
    deadline: float,
    total: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    pauses: tuple[float, ...] = PAUSES,
) -> CloudLogin:
    """The cloud of that name (``CLOUD`` or ``CLOUD/REGION``), logged in. ``total``: seconds for the
    whole cloud (None: no limit); ``pauses``: seconds before each repetition of a request. Raises
    TargetError with what failed and what to do, UsageError if the configuration is invalid."""
    target = f"openstack:{name}"
    region = region_of(name)
    masked: Callable[[str], str] = str
    try:
        session = region.get_session()
        if not isinstance(session, CountingSession):  # openstacksdk creates the given class
            raise TargetError("openstacksdk ignored session_constructor", file=target)
        masked = session.masked
        said = region.get_auth_args()
        session.secrets = tuple(str(said[name]) for name in SECRETS if said.get(name))
        # timeout of a socket; the deadline for the whole request comes first
        session.timeout = 2 * deadline
        session.pauses = pauses
        cloud = CloudLogin(name, region, session, deadline, total=total, since=clock(), clock=clock)
        return cloud.within("identity", lambda: _logged_in(cloud))
    except TimeUpError:
        reason = f"no answer within {deadline:g} s"
    except _CONFIGURATION_ERRORS as error:
        raise UsageError(f"{target}: {configured(error)}") from None
    except (*_LOGIN_ERRORS, OSError) as error:
        reason = masked(login(error))
    auth = region.get_auth_args().get("auth_url")
    where = f" to Keystone at {bare_url(str(auth))}" if auth else ""
    raise TargetError(f"cannot log in{where}: {reason}", file=target)


def _logged_in(cloud: CloudLogin) -> CloudLogin:
    auth = cloud.session.auth
    if not isinstance(auth, BaseIdentityPlugin):
        cloud.session.get_auth_headers()
        return cloud
    access: AccessInfo = auth.get_access(cloud.session)
    regions: set[str] = set()
    if access.has_service_catalog():
        found = access.service_catalog.get_endpoints_data(service_type="compute")
        every = (each.region_name for endpoints in found.values() for each in endpoints)
        regions = {region for region in every if region}
    return cloud._replace(
        roles=frozenset(role.lower() for role in access.role_names or ()),
        project=access.project_id or "",
        project_name=access.project_name or "",
        system_scoped=bool(getattr(access, "system_scoped", False)),
        regions=tuple(sorted(regions)),
    )
