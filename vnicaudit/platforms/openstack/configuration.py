"""Find the configuration of a cloud by its name.

This is the configuration that every OpenStack client reads: ``clouds.yaml`` (and ``secure.yaml``),
or the ``OS_*`` variables, which are the cloud ``envvars``. Nothing is requested over the network,
except a vendor's profile if one is named that is kept at a URL (openstacksdk 4.22,
``config/vendors``: ten seconds).
"""

from __future__ import annotations

import logging
import os
import warnings
from urllib.parse import urlsplit

from vnicaudit import __version__
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.platforms.openstack.binding import (
    CloudRegion,
    OpenStackConfig,
    SDKException,
    keystone_errors,
    requests,
)
from vnicaudit.platforms.openstack.config_files import check
from vnicaudit.platforms.openstack.failures import configured, plain, transport
from vnicaudit.platforms.openstack.session import CountingSession
from vnicaudit.text.cloud_names import ENVIRONMENT, cloud_and_region

_CLOUD = "OS_CLOUD"
_REGION = "OS_REGION_NAME"
_NOTHING = "defaults"
"""openstacksdk's name of a cloud if nothing is configured."""
_CONFIG_LOGGER = "openstack.config"
_SHOWN = 20
"""Maximum number of clouds named in a message."""

_NO_REGION = "is not a valid region name for "
"""Part of openstacksdk 4.22's error for a region (``_get_region`` in its ``config/loader.py``); it
continues: Valid choices are R1,R2. Please …"""
_BY_PASSWORD = ("password", "v3password")
_WRONG = (keystone_errors.ClientException, SDKException)
_FORM_ERRORS = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""Errors that openstacksdk raises for a clouds.yaml that is YAML but has a wrong structure."""


def region_of(name: str) -> CloudRegion:
    """The configuration of one cloud, ``CLOUD`` or ``CLOUD/REGION``. In the latter case, or with
    OS_REGION_NAME, it is that of the region, if ``openstack --os-cloud CLOUD --os-region-name
    REGION`` accepts it: if regions are configured, only those are accepted. Raises TargetError if
    there is no such cloud or region, or its vendor's profile cannot be fetched; UsageError if the
    configuration or a file is invalid."""
    left_out = check(name)
    try:
        with warnings.catch_warnings():
            # openstacksdk warns about options not used here; errors are raised as well
            warnings.simplefilter("ignore")
            region = _chosen_region(name, left_out)
            reason = _lacking(region)
            if not reason:
                return region
    except _WRONG as error:
        reason = configured(error)
    except requests.RequestException as error:
        reason = f"its profile cannot be fetched: {transport(error)}"
        raise TargetError(reason, file=f"openstack:{name}") from None
    except _FORM_ERRORS:  # their text may quote the file
        reason = (
            f"openstacksdk cannot read the entry {plain(name)} of clouds.yaml: check its "
            "auth_url, regions and profile"
        )
    raise UsageError(f"openstack:{name}: {reason}")


def with_region(name: str) -> str:
    """A cloud with the region from OS_REGION_NAME, if its configuration has another one or none:
    plans, runs and commands in reports are used later, when the variable may not be set. A cloud
    that is defined by variables is unchanged; so is one whose configuration cannot be read, since
    reading it reports the problem."""
    region = os.environ.get(_REGION, "").strip()
    if not region or "/" in region or name == ENVIRONMENT:
        return name
    try:
        check(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = _configuration()
            if cloud_and_region(name, config.get_cloud_names()) != (name, ""):
                return name
            own = config.get_one(cloud=name, region_name="").region_name
    except (*_WRONG, *_FORM_ERRORS, requests.RequestException, UsageError):
        return name
    return name if own == region else f"{name}/{region}"


def _configuration() -> OpenStackConfig:
    logger = logging.getLogger(_CONFIG_LOGGER)
    # its log messages may quote the file, including passwords
    disabled, logger.disabled = logger.disabled, True
    try:
        return OpenStackConfig(
            session_constructor=CountingSession, app_name="vnicaudit", app_version=__version__
        )
    finally:
        logger.disabled = disabled


def _chosen_region(name: str, left_out: list[str]) -> CloudRegion:
    config = _configuration()
    names = [each for each in config.get_cloud_names() if each != _NOTHING]
    cloud, region = _split(name, names)
    if cloud not in names:
        reason = _no_such(cloud, names, config.config_filename)
        raise TargetError("; ".join([reason, *left_out]), file=f"openstack:{name}")
    try:
        return config.get_one(cloud=cloud, region_name=region)
    except SDKException as error:
        _start, refused, rest = str(error).partition(_NO_REGION)
        others = rest.partition("Valid choices are ")[2].rpartition(". Please")[0]
        if refused and others:
            reason = _no_region(cloud, region, others, config.config_filename)
            raise TargetError(reason, file=f"openstack:{name}") from None
        raise


def _no_region(cloud: str, region: str, others: str, file: str | None) -> str:
    """The message for a region that its cloud's configuration lacks: ``openstack --os-region-name``
    refuses it, and so do all commands that would be shown."""
    there, wanted = plain(others), plain(region)
    if cloud == ENVIRONMENT:
        return (
            f"OS_REGION_NAME is {there}, and the openstack command then accepts no other region: "
            f"set it to {wanted}, or unset it"
        )
    return (
        f"{file or 'the configuration'} has no region {wanted} for the cloud {plain(cloud)!r}, and "
        f"the openstack command would refuse it too; available: {there}. If the cloud has them "
        f"all, list them in its entry as regions: [{there.replace(',', ', ')}, {wanted}], in "
        "place of region_name"
    )


def _split(name: str, names: list[str]) -> tuple[str, str]:
    """The cloud and its region; ``""``: the first one of the configuration."""
    cloud, region = cloud_and_region(name, names)
    return cloud, os.environ.get(_REGION, "") if cloud == name else region


def _lacking(region: CloudRegion) -> str:
    """The message for a missing or invalid setting with which keystoneauth 5.18 fails at login
    without explanation; empty if there is none."""
    said = region.get_auth_args()
    url = said.get("auth_url")
    if url is None:
        return ""
    if urlsplit(str(url)).scheme not in ("http", "https"):
        return "auth_url is not a URL that begins with http:// or https://"
    if region.config.get("auth_type") in _BY_PASSWORD and said.get("password") is None:
        where = "OS_PASSWORD" if region.name == ENVIRONMENT else "clouds.yaml or secure.yaml"
        return f"the configuration lacks password (in {where})"
    return ""


def _no_such(name: str, names: list[str], file: str | None) -> str:
    """The message for a name that belongs to no configured cloud."""
    listed = ", ".join(sorted(plain(str(each)) for each in names)[:_SHOWN])
    there = f"there are: {listed}" if names else "there is none"
    if name == ENVIRONMENT and os.environ.get(_CLOUD):
        chosen = plain(os.environ[_CLOUD])
        return f"OS_CLOUD is the only OS_* variable that is set: name the cloud, openstack:{chosen}"
    if name == ENVIRONMENT:
        return f"no OS_* variables are set: source an openrc file, or name a cloud ({there})"
    if file is None:
        looked = (
            "./, ~/.config/openstack/ and /etc/openstack/, or where OS_CLIENT_CONFIG_FILE points"
        )
        variables = ""
        if names:
            variables = f"; to use the OS_* variables, name openstack:{ENVIRONMENT}"
        return f"there is no clouds.yaml (looked in {looked}){variables}"
    return f"{file} has no cloud {name!r}; {there}"
