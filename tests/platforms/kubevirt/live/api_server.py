"""An API server on this machine: HTTP that answers lists as kube-apiserver v1.36.3 does.

Its words for refusals are those of a real one (tests/kube runs it): 401, 403, 404, 410 and the form
of ``metadata`` were read there. Lists are paged by ``limit`` and ``continue``.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

TOKEN = "a-token-that-nobody-may-see"

Item = dict[str, Any]

EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    token: str
    body: bytes = b""
    kind: str = ""
    """Its content type."""


class Reply(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def status(code: int, reason: str, message: str, **metadata: str) -> Reply:
    """A refusal."""
    body = {
        "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    }  # fmt: skip
    return Reply(code, json.dumps(body).encode())


class FakeServer:
    """``lists``: the path of each list (``kubevirt.io/v1/virtualmachines``, ``v1/nodes``) and its
    objects. ``intercept`` may answer a request before anything else does."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Item]] = {"v1/nodes": []}
        self.forbidden: set[str] = set()
        self.token = TOKEN
        self.asked: list[Asked] = []
        self.intercept: Callable[[Asked], Reply | None] = lambda _asked: None
        self.url = ""

    @property
    def listed(self) -> Counter[str]:
        """How often each resource was asked for."""
        found = (one.path.rpartition("/")[2] for one in self.asked if one.path.count("/") > 2)
        return Counter(found)

    def reply(self, asked: Asked, body: bytes) -> Reply:
        """The answer to one request."""
        self.asked.append(asked)
        if (other := self.intercept(asked)) is not None:
            return other
        if asked.token != self.token:
            return status(401, "Unauthorized", "Unauthorized")
        if asked.path.rstrip("/") == "/version":
            return _json({"gitVersion": "v1.36.3"})
        if asked.path.rstrip("/") == "/apis":
            return _json({"groups": self._groups()})
        if asked.path.endswith("/selfsubjectaccessreviews"):
            wanted = json.loads(body)["spec"]["resourceAttributes"]
            return _json({"status": {"allowed": wanted["resource"] not in self.forbidden}})
        return self._list(asked)

    def _groups(self) -> list[Item]:
        versions: dict[str, list[str]] = {"apps": ["v1"]}
        for path in self.lists:
            group, _slash, rest = path.partition("/")
            if "/" in rest:
                versions.setdefault(group, []).append(rest.partition("/")[0])
        return [
            {"name": name, "versions": [{"version": one} for one in sorted({*each})],
             "preferredVersion": {"version": sorted(each)[-1]}}
            for name, each in versions.items()
        ]  # fmt: skip

    def _list(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/apis/").removeprefix("/api/")
        parts, space = path.split("/"), ""
        if "namespaces" in parts:
            at = parts.index("namespaces")
            space = parts[at + 1]
            del parts[at : at + 2]
        plural = parts[-1]
        if plural in self.forbidden:
            group = parts[0] if len(parts) > 2 else ""
            where = f'in the namespace "{space}"' if space else "at the cluster scope"
            dotted = f"{plural}.{group}" if group else plural
            return status(
                403, "Forbidden", f'{dotted} is forbidden: User "reader" cannot list resource '
                f'"{plural}" in API group "{group}" {where}',
            )  # fmt: skip
        found = self.lists.get("/".join(parts))
        if found is None:
            return Reply(404, b"404 page not found\n")
        if space:
            found = [one for one in found if one["metadata"].get("namespace") == space]
        begin = int(asked.query.get("continue", "0"))
        end = begin + int(asked.query["limit"])
        metadata = {"resourceVersion": "7", "continue": str(end) if end < len(found) else ""}
        return _json({"kind": "List", "apiVersion": "v1", "metadata": metadata,
                      "items": found[begin:end]})  # fmt: skip


def _json(body: Item) -> Reply:
    return Reply(200, json.dumps(body).encode())


@contextmanager
def served(server: FakeServer) -> Iterator[FakeServer]:
    """The server, running."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").partition(" ")[2]
            kind = self.headers.get("Content-Type") or ""
            query = dict(parse_qsl(parts.query))
            asked = Asked(self.command, parts.path, query, token, body, kind)
            answer = server.reply(asked, body)
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        def log_message(self, *_args: object) -> None:
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    thread = threading.Thread(target=web.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{web.server_address[1]}"
    try:
        yield server
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


def kubeconfig(path: Path, url: str, *contexts: str, user: Item | None = None) -> Path:
    """A kubeconfig file with these contexts, the first of which is the current one."""
    names = contexts or ("prod",)
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": names[0],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user or {"token": TOKEN}}],
        "contexts": [{"name": one, "context": {"cluster": "c", "user": "u"}} for one in names],
    }))  # fmt: skip
    return path


def vm(name: str, space: str = "web", model: str = "e1000") -> Item:
    """A virtual machine with one NIC, as the API answers it."""
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": space, "uid": f"uid-{space}-{name}",
                     "managedFields": [{"manager": "kubectl"}],
                     "labels": {"kubevirt.io/os": "fedora40"}},
        "spec": {"runStrategy": "Always", "template": {"spec": {
            "domain": {"devices": {"interfaces": [
                {"name": "default", "masquerade": {}, "model": model}]}},
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [{"name": "ci", "cloudInitNoCloud": {"userData": "password: planted"}}]}}},
    }  # fmt: skip
