"""Places by URL: the scheme is the name of a transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.measurement import Ran
from vnicaudit.reaching.hosts import CONTAINERS, SSH
from vnicaudit.reaching.process import LOCAL, NETNS, EndpointUrl, Scheme, Transport, UrlForm

SCHEMES: dict[str, Scheme] = dict(
    sorted({"local": LOCAL, "netns": NETNS, "ssh": SSH, **CONTAINERS}.items())
)
FORMS: dict[str, UrlForm] = {name: scheme.url for name, scheme in SCHEMES.items()}
_NAMELESS = "local"


class OpenPlace:
    """A place where programs can be run to their end; nothing is stored there. Threads may share
    it."""

    def __init__(self, url: str, transport: Transport) -> None:
        self.url = url
        self._transport = transport

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        """Run a program there, without a shell. Raises EndpointError, with the URL, if there is no
        answer in time. A transport that fails may also end with a code of its own (ssh: 255)."""
        try:
            answer = self._transport.run(argv, seconds)
        except EndpointError as error:
            raise EndpointError(f"{self.url}: {error}") from None
        out, err = (text.decode("utf-8", "replace") for text in (answer.stdout, answer.stderr))
        return Ran(tuple(argv), answer.code, out, err, endpoint=self.url)

    def close(self) -> None:
        """Disconnect. May be called twice; never raises."""
        self._transport.close()


def open_place(url: str) -> OpenPlace:
    """The place of a URL; it may turn out to be unreachable at the first program only. Raises
    UsageError for an invalid URL, MissingExtraError without testinfra."""
    return OpenPlace(url, transport_to(parse_url(url, FORMS)))


def transport_to(where: EndpointUrl) -> Transport:
    """The transport for a URL of :data:`FORMS`."""
    return SCHEMES[where.scheme].connect(where)


def parse_url(url: str, forms: Mapping[str, UrlForm]) -> EndpointUrl:
    """The parts of a URL in one of these forms, by their schemes. Raises UsageError for an invalid
    one (it lists the forms)."""
    scheme = url.partition("?")[0].partition("://")[0]
    if scheme not in forms or ("://" not in url and scheme != _NAMELESS):
        listed = ", ".join(each.form for each in forms.values())
        raise UsageError(f"invalid endpoint {url!r}; supported forms: {listed}")
    parts, form = _split(url), forms[scheme]
    if parts.password is not None:  # without repeating the text, which may hold a password
        raise UsageError(
            f"{scheme}:// does not accept a password, which others could read: use keys"
        )
    if parts.path not in ("", "/", _NAMELESS) or parts.fragment:
        raise UsageError(f"{url}: only options may follow the name; expected {form.form}")
    options = _options(parts.query, url)
    for option in options.keys() - set(form.options):
        known = ", ".join(sorted(form.options))
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
