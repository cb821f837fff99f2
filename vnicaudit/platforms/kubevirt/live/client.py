"""One cluster by its API: kubeconfig files, and requests with a deadline and a limit on their size.

Only this module and ``launchers.py`` import the official client. Its messages are never shown:
those on a kubeconfig quote the user's entry with its token (``KubeConfigMerger`` names a node after
its content), those on an exec plug-in quote its output (kubernetes 29.0.0 to 37.0.2). So messages
here are made of what was asked for, and of the message in the API server's answer, without the
token.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from vnicaudit.base.deadlines import DaemonCall, TimeUpError, sleep
from vnicaudit.base.wording import plain
from vnicaudit.errors import MissingExtraError, TargetError
from vnicaudit.model.decoding import objects_at, text_at
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.text.targets import CLUSTER, IN_CLUSTER, cloud_and_region, cluster_parts

try:
    from kubernetes import config
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config import kube_config
    from urllib3.exceptions import HTTPError, NewConnectionError
    from urllib3.exceptions import TimeoutError as NoAnswerError
    from urllib3.response import BaseHTTPResponse
    from urllib3.util import Timeout
except ImportError as error:
    raise MissingExtraError("reading a Kubernetes cluster", "kube") from error

__all__ = [
    "ApiCall", "ApiError", "ApiRequest", "Cluster", "Object", "contexts", "current_context",
    "decoded", "probe",
]  # fmt: skip

Object = dict[str, object]
"""A decoded object of the API."""


_MOST_BYTES = 32 << 20
"""Maximum size of one answer: 500 VMs are 0.8 MiB, 500 VMIs some 4."""
_MOST_OF_REFUSAL = 64 << 10
_CHUNK = 1 << 20
_AWAY = (429, 500, 502, 503, 504)
"""Answers of an API server that is overloaded, or being restarted (or its load balancer)."""
_NOT_TAKEN = (429,)
"""Those with which a request was certainly not taken: only then a restart is asked for again, which
would restart a guest twice."""
_PAUSES = (0.5, 2.0, 5.0)
"""Seconds before a request is repeated, if the server does not say how long."""
_LONGEST_PAUSE = 30.0

# it reports a failed exec plug-in by logging.error, with the plug-in's output
_SILENT = logging.Logger("kubernetes.config")
_SILENT.addHandler(logging.NullHandler())
kube_config.logging = _SILENT
logging.getLogger("urllib3").addHandler(logging.NullHandler())  # its warnings are raised as well


class ApiError(TargetError):
    """A request that failed. ``status``: of the answer; None: there was none. ``token``: with which
    an expired list goes on. ``pause``: seconds that the server asks to wait. ``too_large``: the
    answer was larger than the limit."""

    status: int | None = None
    token: str = ""
    pause: float | None = None
    too_large: bool = False


class ApiCall(NamedTuple):
    """A request to an API server. ``path``: from its root. ``content``: the type of ``body``,
    which is sent as JSON."""

    path: str
    query: Mapping[str, str] = {}
    method: str = "GET"
    body: object = None
    content: str = "application/json"


class _ApiAnswer(NamedTuple):
    """An answer, decoded. ``warning``: its header of that name."""

    value: Object
    warning: str = ""


class _KubeContext(NamedTuple):
    """A context of kubeconfig files; empty ``name``: the account of this pod."""

    name: str
    namespace: str
    files: str = ""
    plugin: str = ""
    """The program that provides its credentials; empty: they are in the file."""


def current_context(kubeconfig: str) -> str:
    """The name of the current context: of the first file that has one. Raises TargetError."""
    merger = _merged(_files(kubeconfig), "kube:")
    for path in merger.paths:
        if name := merger.config_files[path].get("current-context"):
            return str(name)
    raise TargetError(
        "no current context is set: name one, kube:CONTEXT (kubectl config get-contexts)",
        file="kube:",
    )


def contexts(name: str, live: LiveOptions) -> list[str]:
    """The target with the name of the current context, where it names none. Without one, the
    target is unchanged: reading it reports the reason."""
    del live
    words, kubeconfig = cluster_parts(name)
    if words and not words.startswith("/"):
        return [name]
    with suppress(TargetError):
        return [name.replace(CLUSTER, CLUSTER + current_context(kubeconfig), 1)]
    return [name]


def probe(target: str, live: LiveOptions) -> str:
    """The version of the API server. Raises TargetError."""
    return f"Kubernetes {Cluster(target, live).version()}"


def _files(kubeconfig: str) -> str:
    return kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"


def _merged(files: str, target: str) -> kube_config.KubeConfigMerger:
    """The kubeconfig files, merged. Raises TargetError if none exists, or one cannot be read."""
    try:
        merger = kube_config.KubeConfigMerger(files)
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}"
        raise TargetError(reason, file=target) from None
    except Exception as error:  # YAML's errors and its own: their texts quote the file
        kind = type(error).__name__
        raise TargetError(f"{files}: not a kubeconfig file ({kind})", file=target) from None
    if not merger.paths:
        raise TargetError(f"no kubeconfig file: {files} does not exist", file=target)
    return merger


def _context_of(target: str) -> _KubeContext:
    """The context that a target names. Raises TargetError if there is none of that name."""
    words, kubeconfig = cluster_parts(target)
    if words.partition("/")[0] == IN_CLUSTER:
        return _KubeContext("", words.partition("/")[2])
    files = _files(kubeconfig)
    listed = _merged(files, target).config.value
    contexts = {each["name"]: each.value.get("context") or {} for each in listed["contexts"]}
    name, namespace = cloud_and_region(words, contexts)
    name = name or current_context(kubeconfig)
    if name not in contexts:
        known = ", ".join(map(plain, sorted(map(str, contexts)))) or "none"
        raise TargetError(f"no context {plain(name)!r} in {files} (there: {known})", file=target)
    for kind in ("cluster", "user"):
        if contexts[name].get(kind) not in [each["name"] for each in listed[f"{kind}s"]]:
            raise TargetError(f"{files}: the context's {kind} is not defined there", file=target)
    user = next(each for each in listed["users"] if each["name"] == contexts[name]["user"])
    plugin = ((user.value.get("user") or {}).get("exec") or {}).get("command") or ""
    return _KubeContext(name, namespace, files, os.path.basename(str(plugin)))


class Cluster:
    """One cluster. ``namespace`` empty: all of them. Raises TargetError if its kubeconfig cannot be
    used. Requests may be sent by any thread. ``configuration``: the client's, with the
    credentials."""

    def __init__(self, target: str, live: LiveOptions) -> None:
        self.target = target
        self.deadline = live.deadline
        self._until = time.monotonic() + live.cloud
        try:
            self._context = _context_of(target)
            self._connect()
        except TargetError:
            raise
        except Exception as error:  # the client's, whose texts may quote a token
            raise self._unusable(type(error).__name__) from None

    @property
    def context(self) -> str:
        """The name of its context."""
        return self._context.name or IN_CLUSTER

    @property
    def namespace(self) -> str:
        """The namespace that is read; empty: all of them."""
        return self._context.namespace

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return str(self.configuration.host)

    @property
    def credentials(self) -> dict[str, str]:
        """The headers that log in."""
        settings = self.configuration.auth_settings().values()
        return {each["key"]: each["value"] for each in settings}

    @property
    def kubectl(self) -> str:
        """``kubectl`` with the options that select this context."""
        file = cluster_parts(self.target)[1]
        words = ["kubectl", *(["--kubeconfig", file] if file else [])]
        return " ".join(
            [*words, *(["--context", self._context.name] if self._context.name else [])]
        )

    def _unusable(self, why: str) -> TargetError:
        place = self._context.files if hasattr(self, "_context") else "its kubeconfig"
        return TargetError(f"{place or 'the account of this pod'} cannot be used ({why})",
                           file=self.target, failure="authentication")  # fmt: skip

    def _connect(self) -> None:
        """Read the credentials; an exec plug-in is run for them."""
        found, context = Configuration(), self._context
        found.retries = False  # urllib3's own obey a Retry-After of any length
        try:
            DaemonCall("kubeconfig", lambda: _load(found, context)).result(self.deadline)
        except TimeUpError:
            raise self._unusable(f"no credentials within {self.deadline:g} s") from None
        if context.plugin and not found.api_key and not found.cert_file:
            raise self._unusable(
                f"its exec plug-in {plain(context.plugin)} failed or gave no credentials; run "
                f"{self.kubectl} version"
            )
        self.configuration, self._rest = found, RESTClientObject(found)

    def version(self) -> str:
        """The version of the API server. Raises TargetError."""
        found = self.ask(ApiCall("/version/")).result()
        return plain(str(found.get("gitVersion")))

    def groups(self) -> dict[str, list[str]]:
        """API group -> its versions, the preferred one first. Raises TargetError."""
        found = self.ask(ApiCall("/apis/")).result()
        served: dict[str, list[str]] = {}
        for group in objects_at(found, "/groups"):
            every = [text_at(each, "/version") for each in objects_at(group, "/versions")]
            preferred = text_at(group, "/preferredVersion/version")
            served[text_at(group, "/name")] = sorted(every, key=preferred.__ne__)
        return served

    def ask(self, call: ApiCall) -> ApiRequest:
        """Send a request; its answer is waited for with :meth:`ApiRequest.result`."""
        return ApiRequest(self, call)

    def is_over(self) -> bool:
        """True once the time for a whole cluster has passed."""
        return time.monotonic() > self._until

    def attempt(self, call: ApiCall) -> DaemonCall[_ApiAnswer]:
        """One attempt of a request."""
        return DaemonCall(self.target, lambda: self._answer(call))

    def renew(self) -> bool:
        """Read the credentials again: they may have expired. False if they are the same."""
        before = dict(self.configuration.api_key), self.configuration.cert_file
        with suppress(TargetError):
            self._connect()
        return before != (dict(self.configuration.api_key), self.configuration.cert_file)

    def error(self, reason: str, failure: str = "") -> ApiError:
        """An error at this cluster, without its token in the text."""
        for secret in self.configuration.api_key.values():
            for part in str(secret).split():
                reason = reason.replace(part, "***") if len(part) > _LEAST_SECRET else reason
        return ApiError(reason, file=self.target, failure=failure)

    def time_up(self) -> ApiError:
        """The error for a request without an answer in time."""
        return self.error(
            f"no answer within {self.deadline:g} s; VNICAUDIT_DEADLINE allows more", "deadline"
        )

    def _answer(self, call: ApiCall) -> _ApiAnswer:
        """The decoded answer to a request. Raises ApiError."""
        try:
            response = self._response(call)
            try:
                if not 200 <= response.status < 300:
                    raise self._refusal(response)
                data = self._limited(response)
            except ApiError:
                response.close()  # the rest of it would be read
                raise
        except (HTTPError, OSError) as error:
            # one that was refused at once is a time-out, too, to urllib3
            if isinstance(error, NoAnswerError) and not isinstance(error, NewConnectionError):
                raise self.time_up() from None
            known = (advice for needle, advice in _REASONS if needle in str(error))
            reason = next(known, type(error).__name__)
            raise self.error(f"the API server cannot be reached: {reason}", "unreachable") from None
        found = decoded(data) if data or call.method == "GET" else {}
        if found is None:
            raise self.error("an answer of the API server is not a JSON object", "broken")
        return _ApiAnswer(found, response.headers.get("Warning") or "")

    def _response(self, call: ApiCall) -> BaseHTTPResponse:
        """The answer, of which only the beginning was read."""
        query = f"?{urlencode(call.query)}" if call.query else ""
        headers = {"Accept": "application/json", "User-Agent": "vnicaudit", **self.credentials}
        if call.body is not None:
            headers["Content-Type"] = call.content
        return self._rest.pool_manager.request(
            call.method, f"{self.configuration.host}{call.path}{query}", headers=headers,
            body=None if call.body is None else msgspec.json.encode(call.body),
            preload_content=False, redirect=False,
            timeout=Timeout(connect=self.deadline, read=self.deadline),
        )  # fmt: skip

    def _limited(self, response: BaseHTTPResponse) -> bytearray:
        data = bytearray()
        while part := response.read(_CHUNK):
            data += part
            if len(data) > _MOST_BYTES:
                error = self.error(f"an answer is larger than {_MOST_BYTES >> 20} MiB", "broken")
                error.too_large = True
                raise error
        return data

    def _refusal(self, response: BaseHTTPResponse) -> ApiError:
        body, status = decoded(response.read(_MOST_OF_REFUSAL)) or {}, response.status
        said = plain(str(body.get("message") or response.reason or ""))
        kind = {401: "authentication", 403: "refused"}.get(status, "broken")
        advice = f"; log in again, then check with {self.kubectl} version"
        found = self.error(f"{status}: {said}{advice if status == 401 else ''}", kind)
        found.status = status
        found.token = text_at(body, "/metadata/continue")
        wanted = str(response.headers.get("Retry-After") or "")
        found.pause = float(wanted) if wanted.isascii() and wanted.isdigit() else None
        return found


def decoded(data: bytes | bytearray) -> Object | None:
    """The JSON object in an answer; None if it is none."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


_LEAST_SECRET = 8
"""Length from which a word of the credentials is a secret, and not ``Bearer``."""


class ApiRequest:
    """A request that was sent: another one can be answered meanwhile. ``warning``: the server's, in
    the answer's header of that name."""

    def __init__(self, cluster: Cluster, call: ApiCall) -> None:
        self._cluster = cluster
        self._call = call
        self._attempt = cluster.attempt(call)
        self._renewed = False
        self.warning = ""

    def result(self) -> Object:
        """The answer. It is asked for again if the server is away for a moment, and once with new
        credentials. Raises ApiError."""
        pauses = iter(_PAUSES)
        while True:
            try:
                value, self.warning = self._attempt.result(self._cluster.deadline)
                return value
            except TimeUpError:
                raise self._cluster.time_up() from None
            except ApiError as error:
                sleep(self._wait_after(error, pauses))
            self._attempt = self._cluster.attempt(self._call)

    def _wait_after(self, error: ApiError, pauses: Iterator[float]) -> float:
        """Seconds after which to ask again; raises the error if that is no use."""
        if error.status == 401 and not self._renewed and self._cluster.renew():
            self._renewed = True
            return 0.0
        wanted = error.pause or 0.0
        answers = _NOT_TAKEN if self._call.method == "PUT" else _AWAY
        is_away = error.status in answers and wanted <= _LONGEST_PAUSE
        pause = next(pauses, None)
        if pause is None or not is_away or self._cluster.is_over():
            raise error
        return max(pause, wanted)


def _load(into: Configuration, context: _KubeContext) -> None:
    if not context.name:
        config.load_incluster_config(client_configuration=into)
    else:
        config.load_kube_config(context.files, context.name, client_configuration=into)


_REASONS = (
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted: check certificate-authority in "
     "the kubeconfig"),
    ("WRONG_VERSION_NUMBER", "the server does not speak TLS: should it be http://?"),
    ("Connection refused", "nothing is listening there"),
    ("Name or service not known", "check the host name"),
    ("Temporary failure in name resolution", "check the host name and the resolver"),
    ("No route to host", "that network cannot be reached from here"),
    ("timed out", "there was no answer in time"),
)  # fmt: skip
"""Part of a message of the transport -> its meaning. The first match is used, and nothing of the
message is told, which may quote a proxy's password."""
