"""Endpoints by URL: the scheme is the name of a transport."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from vnicaudit.bench.endpoints.addresses import is_host_name
from vnicaudit.bench.endpoints.reach.agent import AGENT
from vnicaudit.bench.endpoints.reach.hosts import CONTAINERS
from vnicaudit.bench.endpoints.reach.process import LOCAL, NETNS
from vnicaudit.bench.endpoints.reach.ssh import SSH
from vnicaudit.bench.endpoints.reach.transport import EndpointUrl, Scheme
from vnicaudit.bench.endpoints.session import LEASE_SECONDS, EndpointSession, open_session
from vnicaudit.errors import UsageError
from vnicaudit.remedy.hypervisor import ConnectHypervisor

ADDRESS = "address"
"""The option that every URL accepts: the address by which the other end reaches this one."""
_NAMELESS = "local"

SCHEMES: dict[str, Scheme] = dict(
    sorted({"agent": AGENT, "local": LOCAL, "netns": NETNS, "ssh": SSH, **CONTAINERS}.items())
)


def open_endpoint(
    url: str, *, connect: ConnectHypervisor, lease: float = LEASE_SECONDS
) -> EndpointSession:
    """An endpoint, ready for use. ``connect``: connects to the host of a guest. ``lease``: seconds
    without contact after which everything started there ends by itself (it may take twice as long).

    Raises UsageError for an invalid URL (it lists the supported forms), MissingExtraError if a
    package for it is missing, EndpointError if it cannot be reached.
    """
    where = parse(url)
    transport = SCHEMES[where.scheme].connect(where, connect)
    return open_session(where.url, transport, lease=lease)


def address_option(url: str) -> str | None:
    """The ``?address=`` of a URL: the IP address or host name by which that end is reached. Raises
    UsageError for anything else."""
    text = _options(_split(url).query, url).get(ADDRESS)
    if text is None:
        return None
    if is_host_name(text):
        return text
    try:
        if "%" in text:  # a zone, which has a meaning on one machine only
            raise ValueError(text)
        return str(ip_address(text))
    except ValueError:
        raise UsageError(
            f"{url}: {ADDRESS}= must be an IP address or a host name, not {text!r}"
        ) from None


def parse(url: str) -> EndpointUrl:
    """The parts of a URL. Raises UsageError for an invalid one."""
    scheme = url.partition("?")[0].partition("://")[0]
    if scheme not in SCHEMES or ("://" not in url and scheme != _NAMELESS):
        forms = ", ".join(each.form for each in SCHEMES.values())
        raise UsageError(f"invalid endpoint {url!r}; supported forms: {forms}")
    parts, known_scheme = _split(url), SCHEMES[scheme]
    if parts.password is not None:  # without repeating the text, which may hold a password
        raise UsageError(
            f"{scheme}:// does not accept a password, which others could read: use keys"
        )
    if parts.path not in ("", "/", _NAMELESS) or parts.fragment:
        raise UsageError(f"{url}: only options may follow the name; expected {known_scheme.form}")
    options = _options(parts.query, url)
    options.pop(ADDRESS, None)
    for option in options.keys() - set(known_scheme.options):
        known = ", ".join(sorted((ADDRESS, *known_scheme.options)))
        raise UsageError(f"{url}: {scheme}:// has no option {option!r}; use {known}")
    return EndpointUrl(url, scheme, unquote(parts.netloc), options)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}") from None


def _options(query: str, url: str) -> dict[str, str]:
    """The options in a query. A plus sign is not a space here: libvirt's URIs contain them
    (``qemu+ssh``)."""
    options: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, sign, value = pair.partition("=")
        if not sign or name in options:
            raise UsageError(f"{url}: write options as NAME=VALUE, each once, separated by &")
        options[name] = unquote(value)
    return options
