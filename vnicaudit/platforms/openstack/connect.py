"""The name of a cloud -> the cloud: its configuration, a login, its endpoints.

The configuration is what every OpenStack client reads: ``clouds.yaml`` (and ``secure.yaml``), or
the ``OS_*`` variables, which are the cloud ``envvars``.
"""

from __future__ import annotations

import json
import logging
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from vnicaudit import __version__
from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.binding import (
    AccessInfo,
    BaseIdentityPlugin,
    CloudRegion,
    OpenStackConfig,
    SDKException,
    Session,
    keystone_errors,
    requests,
    yaml,
)
from vnicaudit.platforms.openstack.failures import login, place, plain
from vnicaudit.platforms.openstack.waiting import TimeUpError, within

T = TypeVar("T")

ENVIRONMENT = "envvars"
"""The cloud that the ``OS_*`` variables are (openstacksdk, ``OS_CLOUD_NAME``)."""
_NOTHING = "defaults"
"""What openstacksdk calls a cloud of which nothing is said anywhere."""
_CONFIG_LOGGER = "openstack.config"
_SHOWN = 20
"""Names of clouds in a message."""

_LOGIN_ERRORS = (
    keystone_errors.ClientException,
    keystone_errors.ImpliedVersionMismatch,
    SDKException,
)
_FORM_ERRORS = (AttributeError, KeyError, TypeError, ValueError)
"""What openstacksdk raises over a clouds.yaml that is YAML and not of its form."""


class CountingSession(Session):
    """A session that counts requests by the service its thread is asking, ``identity``
    elsewhere."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.calls: Counter[str] = Counter()
        self.asking = threading.local()
        self._count = threading.Lock()

    def request(self, url: str, method: str, *args: Any, **kwargs: Any) -> requests.Response:
        """As keystoneauth has it."""
        login_again = url.endswith("/auth/tokens")
        service = "identity" if login_again else getattr(self.asking, "service", "identity")
        with self._count:
            self.calls[service] += 1
        return super().request(url, method, *args, **kwargs)


class _Warned(logging.Handler):
    """Which files openstacksdk leaves out because they cannot be parsed. Of its message the path
    and the place alone are kept: the rest quotes the file, and passwords with it
    (openstacksdk 4.22, ``_load_yaml_json_file``)."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it for a message."""
        match record.args:
            case (str(path), Exception() as error):
                self.said.append(f"{plain(path)} is left out, it cannot be parsed{_spot(error)}")


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
        """Where ``compute``, ``image`` or ``network`` is. Raises TargetError where it cannot be
        found or does not answer."""
        try:
            return self.within(service, lambda: _endpoint(self.region, service))
        except TimeUpError:
            reason = f"no answer within {self.deadline:g} s"
        except (*_LOGIN_ERRORS, OSError) as error:
            reason = login(error)
        raise TargetError(f"the {service} service cannot be reached: {reason}", file=self.target)


def connect(name: str, *, deadline: float) -> Cloud:
    """The cloud of that name, logged in. Raises TargetError with what failed and what to do."""
    target = f"openstack:{name}"
    region = _region(name, target)
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
    except (*_LOGIN_ERRORS, OSError) as error:
        reason = login(error)
    auth = region.get_auth_args().get("auth_url")
    where = f" to Keystone at {place(str(auth))}" if auth else ""
    raise TargetError(f"cannot log in{where}: {reason}", file=target)


def _region(name: str, target: str) -> CloudRegion:
    """Its configuration, which nothing is asked over the network for."""
    try:
        with warnings.catch_warnings():
            # of openstacksdk, about what is not used here; what fails is raised as well
            warnings.simplefilter("ignore")
            return _chosen(name, target)
    except yaml.YAMLError as error:
        reason = f"{_file(error)} is not YAML{_spot(error)}"
    except _LOGIN_ERRORS as error:
        reason = login(error)
    except _FORM_ERRORS:  # their text may quote the file
        reason = (
            "clouds.yaml is not of the form that openstacksdk reads: clouds, each cloud and its "
            "auth are mappings"
        )
    raise TargetError(reason, file=target)


def _chosen(name: str, target: str) -> CloudRegion:
    warned = _Warned()
    logger = logging.getLogger(_CONFIG_LOGGER)
    propagated, logger.propagate = logger.propagate, False  # no other log quotes the file either
    logger.addHandler(warned)
    try:
        config = OpenStackConfig(
            session_constructor=CountingSession, app_name="vnicaudit", app_version=__version__
        )
    finally:
        logger.removeHandler(warned)
        logger.propagate = propagated
    names = [each for each in config.get_cloud_names() if each != _NOTHING]
    if name not in names:
        reason = _no_such(name, names, config.config_filename)
        raise TargetError("; ".join([reason, *warned.said]), file=target)
    return config.get_one(cloud=name)


def _file(error: Exception) -> str:
    """The file that an error of YAML is about."""
    mark = getattr(error, "problem_mark", None)
    return "clouds.yaml" if mark is None else plain(str(mark.name))


def _spot(error: Exception) -> str:
    """Line and column of an error, never its text; empty where it does not say."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f" at line {mark.line + 1}, column {mark.column + 1}"
    if isinstance(error, json.JSONDecodeError):
        return f" at line {error.lineno}, column {error.colno}"
    return ""


def _no_such(name: str, names: list[str], file: str | None) -> str:
    """What to say of a name that is no cloud's."""
    listed = ", ".join(sorted(plain(str(each)) for each in names)[:_SHOWN])
    there = f"there are: {listed}" if names else "there is none"
    if name == ENVIRONMENT:
        return f"no OS_* variables are set: source an openrc file, or name a cloud ({there})"
    if file is None:
        looked = "./, ~/.config/openstack/ and /etc/openstack/, or where OS_CLIENT_CONFIG_FILE says"
        variables = ""
        if names:
            variables = f"; what the OS_* variables say is openstack:{ENVIRONMENT}"
        return f"there is no clouds.yaml (looked in {looked}){variables}"
    return f"{file} has no cloud {name!r}; {there}"


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


def _endpoint(region: CloudRegion, service: str) -> Endpoint:
    """Glance is asked for its version 2 unless the configuration says which; for Neutron
    openstacksdk appends ``v2.0`` without asking, as every client does."""
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
