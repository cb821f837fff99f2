"""Checks the files of openstacksdk's configuration before openstacksdk reads them.

openstacksdk (4.22, ``config/loader.py``) reads the first readable file of each kind, however large
it is, and raises Python's own errors for one with a wrong structure. No content of a file is quoted
here, because it contains passwords.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import warnings
from urllib.parse import urlsplit

from vnicaudit import __version__
from vnicaudit.base.wording import plain
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.platforms.openstack.session import (
    CloudRegion,
    CountingSession,
    OpenStackConfig,
    SDKException,
    configured,
    keystone_errors,
    loader,
    requests,
    transport,
    yaml,
)
from vnicaudit.text.targets import ENVIRONMENT, cloud_and_region

_MOST_BYTES = 512 << 10
_CLOUDS = "clouds"
_VENDORS = "public-clouds"
_PROFILES = {"profile", "cloud"}
"""Keys that name a vendor's profile (``_expand_vendor_profile``)."""
_MAIN = "OS_CLIENT_CONFIG_FILE"
_SECURE = "OS_CLIENT_SECURE_FILE"


def check(name: str) -> list[str]:
    """Check the files for a cloud or a region of it. Returns which are skipped because this user
    may not read them. Raises UsageError for a file that would be read but cannot be used."""
    left_out: list[str] = []
    said: set[object] = set()
    used = {}
    for variable, paths in ((_MAIN, loader.CONFIG_FILES), (_SECURE, loader.SECURE_FILES)):
        named = os.environ.get(variable)
        path, found = _first_readable(named, paths, left_out)
        if named and os.path.exists(named):  # including a pipe, which only openstacksdk reads
            used[named] = variable
        # for the secure file, openstacksdk treats an empty one as missing
        if path and (found is not None or variable == _MAIN):
            entry = _check_form(path, found, name)
            said |= entry
            if entry:
                used.setdefault(path, "" if path != named else variable)
    if said & _PROFILES:  # otherwise it is not read
        path, found = _first_readable(None, loader.VENDOR_FILES, left_out)
        if path and found is not None:
            of_all = _mapping(path, "it", found).get(_VENDORS, {})
            _mapping(path, f"{_VENDORS}:", of_all)
            used.setdefault(path, "")
    _check_places(used)
    return left_out


def _check_places(used: dict[str, str]) -> None:
    """Check the files that describe a cloud, each with the variable that names it. Raises
    UsageError if one is only in the current folder, and another elsewhere: a checkout, or anybody
    who may write to the folder, would decide where the password from the other is sent."""
    here = os.path.realpath(os.getcwd())
    places = {path: os.path.realpath(os.path.dirname(path)) for path in used}
    if set(places.values()) <= {here}:
        return
    for path, variable in used.items():
        if places[path] == here and not variable:
            other = next(each for each in used if places[each] != here)
            raise UsageError(
                f"{plain(path)} is not used together with {plain(other)}: it is in the current "
                "folder, and could send the password elsewhere; start in another folder, or name "
                f"both files ({_MAIN}, {_SECURE})"
            )


def _first_readable(said: str | None, paths: list[str], left_out: list[str]) -> tuple[str, object]:
    """The first readable file of a kind, and its content; an empty path if there is none. ``said``:
    the file that the user named."""
    for path in [*([said] if said else []), *paths]:
        text = _text(path, left_out, wanted=path == said)
        if text is not None:
            return path, _parsed(path, text)
    return "", None


def _text(path: str, left_out: list[str], *, wanted: bool) -> bytes | None:
    """The bytes of a file; None if openstacksdk skips it (``left_out`` gets the reason if
    permission is denied), or if it can be read only once (a pipe). ``wanted``: the user named it.
    Raises UsageError if a file cannot be read, or is too large."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode) and wanted:
            return None
        if not stat.S_ISREG(mode):
            raise UsageError(f"{plain(path)} is not a file")
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = f"{plain(path)} cannot be read: {error.strerror or type(error).__name__}"
        if wanted or not isinstance(error, PermissionError):
            raise UsageError(reason) from None
        left_out.append(reason)
        return None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{plain(path)} is larger than {_MOST_BYTES >> 10} KiB: no {_CLOUDS}.yaml "
                         "is that large")  # fmt: skip
    return text


def _parsed(path: str, text: bytes) -> object:
    """The parsed content. Raises UsageError if it does not match the file's suffix."""
    kind = "JSON" if path.endswith("json") else "YAML"
    try:
        if kind == "JSON":
            return json.loads(text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        reason = f"it is not {kind}{_spot(error)}"
    except RecursionError:
        reason = "it is nested too deeply"
    raise UsageError(f"{plain(path)} cannot be used: {reason}")


def _check_form(path: str, found: object, name: str) -> set[object]:
    """The keys of a cloud's entry in a file; empty if the file lacks the cloud. Raises UsageError
    if the entry, or a section around it, is not a mapping."""
    entries = _mapping(path, "it", found).get(_CLOUDS, {})
    of_all = _mapping(path, f"{_CLOUDS}:", entries)
    cloud, _region = cloud_and_region(name, of_all)
    if cloud not in of_all:
        return set()
    entry = _mapping(path, f"{_CLOUDS}: {cloud}:", of_all[cloud])
    if "auth" in entry:
        _mapping(path, f"{_CLOUDS}: {cloud}: auth:", entry["auth"])
    return set(entry)


_KINDS = {type(None): "empty", list: "a list", str: "a string", bool: "a boolean", int: "a number"}


def _mapping(path: str, what: str, found: object) -> dict[object, object]:
    if isinstance(found, dict):
        return found
    kind = _KINDS.get(type(found), "something else")
    raise UsageError(
        f"{plain(path)} cannot be used: {plain(what)} is {kind}, but must be a mapping (key: value)"
    )


def _spot(error: Exception) -> str:
    """Line and column of an error, never its text; empty if unknown."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f" at line {mark.line + 1}, column {mark.column + 1}"
    if isinstance(error, json.JSONDecodeError):
        return f" at line {error.lineno}, column {error.colno}"
    return ""


# Find the configuration of a cloud by its name.
#
# This is the configuration that every OpenStack client reads: ``clouds.yaml`` (and
# ``secure.yaml``), or the ``OS_*`` variables, which are the cloud ``envvars``. Nothing is requested
# over the network, except a vendor's profile if one is named that is kept at a URL (openstacksdk
# 4.22, ``config/vendors``: ten seconds).


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
    cloud, region = cloud_and_region(name, names)
    if cloud == name:
        region = os.environ.get(_REGION, "")  # "": the first one of the configuration
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
