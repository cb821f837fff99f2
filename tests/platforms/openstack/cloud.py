"""A cloud on this machine: HTTP that answers as the real one did whose answers are in ``data/``.

Keystone, Nova, Neutron and Glance are paths of one server. Lists are paged as those services do it
(limit, marker, links), so that every list can be made as long as a test wants it.
"""

import copy
import json
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

DATA = Path(__file__).parent / "data"
PORTS = {"5000": "identity", "8774": "compute", "9292": "image", "9696": "network"}
PASSWORD = "a-secret-word"
MAX_LIMIT = 1000
FORBIDDEN = {
    "/compute/v2.1/os-hypervisors/detail": "hypervisors-forbidden",
    "/compute/v2.1/os-aggregates": "aggregates-forbidden",
    "/identity/v3/projects": "projects-forbidden",
}
"""Lists for admins only -> what others are answered."""

Item = dict[str, Any]


def load(name: str) -> Any:
    """A recorded answer."""
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


class Reply(NamedTuple):
    """What is sent back; ``length`` is what the header says, where it is to be wrong."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    microversion: str | None
    token: str | None


Intercept = Callable[[Asked], Reply | None]


def silent_until(over: threading.Event) -> Intercept:
    """Answers nothing before ``over`` is set."""

    def intercept(_asked: Asked) -> Reply | None:
        over.wait(60)
        return None

    return intercept


def reply(status: int, body: Any, **headers: str) -> Reply:
    """An answer in JSON."""
    named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    return Reply(status, json.dumps(body).encode(), named)


def recorded_error(name: str) -> Reply:
    """One of ``data/errors``."""
    found = load(f"errors/{name}")
    text = found["body"]
    body = text.encode() if isinstance(text, str) else json.dumps(text).encode()
    return Reply(found["status"], body, (("x-openstack-request-id", found["request_id"]),))


class User:
    """What one user is shown: lists that tests may change."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.admin = name == "admin"
        self.servers: list[Item] = load(f"{name}/servers-2.98")
        self.ports: list[Item] = load(f"{name}/ports")
        self.networks: list[Item] = load(f"{name}/networks")
        self.images: list[Item] = load(f"{name}/images")
        self.flavors: list[Item] = load(f"{name}/flavors")
        self.groups: list[Item] = load(f"{name}/server_groups")
        self.hypervisors: list[Item] = load("admin/hypervisors") if self.admin else []
        self.aggregates: list[Item] = load("admin/aggregates") if self.admin else []
        self.projects: list[Item] = load("admin/projects") if self.admin else []
        self.token: Item = load(f"{name}/token")


class FakeCloud:
    """The server. ``intercept`` may answer a request before anything else does; ``asked`` is what
    came; ``highest`` is Nova's highest microversion."""

    def __init__(self) -> None:
        self.users = {"admin": User("admin"), "demo": User("demo")}
        self.asked: list[Asked] = []
        self.logins = 0
        self.intercept: Intercept = lambda _asked: None
        self.highest = "2.104"
        self.catalog = ["identity", "compute", "image", "network"]
        self.url = ""
        self._others = {
            "/compute/v2.1/os-aggregates": self._aggregates,
            "/image/v2/images": self._images,
            "/identity/v3/projects": self._projects,
        }

    @property
    def admin(self) -> User:
        """The one with the role admin."""
        return self.users["admin"]

    @property
    def demo(self) -> User:
        """The tenant."""
        return self.users["demo"]

    def paths(self) -> list[str]:
        """Of all requests."""
        return [asked.path for asked in self.asked]

    def answer(self, asked: Asked, body: bytes) -> Reply:
        """What to send back."""
        self.asked.append(asked)
        done = self.intercept(asked)
        if done is not None:
            return done
        if asked.path.startswith("/identity") and not asked.path.endswith("/projects"):
            return self._identity(asked, body)
        if asked.path == "/compute/":
            return self._compute_versions()
        if asked.path in ("/image", "/image/"):
            found = load("discovery-image")
            return self._here(found["status"], found["body"])
        name = (asked.token or "").removeprefix("token-of-").partition(".")[0]
        user = self.users.get(name)
        if user is None:
            return recorded_error("bad-token")
        return self._list(user, asked)

    def _identity(self, asked: Asked, body: bytes) -> Reply:
        if asked.method == "GET":
            found = load("discovery-identity")
            return self._here(found["status"], found["body"])
        who = json.loads(body)["auth"]["identity"]["password"]["user"]
        user = self.users.get(who["name"])
        if user is None or who["password"] != PASSWORD:
            return recorded_error("unauthorized")
        token = copy.deepcopy(user.token)
        end = datetime.now(timezone.utc) + timedelta(hours=1)
        token["token"]["expires_at"] = end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        token["token"]["catalog"] = [
            service for service in token["token"]["catalog"] if service["type"] in self.catalog
        ]
        done = self._here(201, token)
        self.logins += 1
        number = f".{self.logins}" if self.logins > 1 else ""
        return done._replace(headers=(("X-Subject-Token", f"token-of-{user.name}{number}"),))

    def _compute_versions(self) -> Reply:
        found = load("discovery-compute")
        for version in found["body"]["versions"]:
            if version["version"]:
                version["version"] = self.highest
        return self._here(found["status"], found["body"])

    def _here(self, status: int, body: Any) -> Reply:
        """With URLs of this server in place of those recorded."""
        text = json.dumps(body)
        for port, service in PORTS.items():
            text = text.replace(f"http://127.0.0.1:{port}", f"{self.url}/{service}")
        return Reply(status, text.encode())

    def _list(self, user: User, asked: Asked) -> Reply:
        forbidden = FORBIDDEN.get(asked.path)
        if forbidden is not None and not user.admin:
            return recorded_error(forbidden)
        match asked.path:
            case "/compute/v2.1/servers/detail":
                if "all_tenants" in asked.query and not user.admin:
                    return recorded_error("all-tenants-forbidden")
                return self._marked(asked, "servers", user.servers)
            case "/compute/v2.1/flavors/detail":
                return self._marked(asked, "flavors", user.flavors)
            case "/compute/v2.1/os-hypervisors/detail":
                return self._marked(asked, "hypervisors", user.hypervisors)
            case "/compute/v2.1/os-server-groups":
                begin, limit = (int(asked.query[key]) for key in ("offset", "limit"))
                return reply(200, {"server_groups": user.groups[begin : begin + limit]})
            case "/network/v2.0/ports":
                return self._marked(asked, "ports", user.ports)
            case "/network/v2.0/networks":
                return self._marked(asked, "networks", user.networks)
            case path if path in self._others:
                return self._others[path](user, asked)
        return reply(404, {"itemNotFound": {"code": 404, "message": asked.path}})

    def _marked(self, asked: Asked, key: str, items: list[Item]) -> Reply:
        page, following = _page(asked, items)
        body: Item = {key: page}
        if following is not None:
            # a name that does not lead anywhere, as behind a proxy that Nova does not know of
            link = f"http://inside.example.invalid{asked.path}?{following}"
            body[f"{key}_links"] = [{"rel": "next", "href": link}]
        return reply(200, body)

    def _aggregates(self, user: User, _asked: Asked) -> Reply:
        return reply(200, {"aggregates": user.aggregates})

    def _projects(self, user: User, asked: Asked) -> Reply:
        page, following = _page(asked, user.projects)
        link = None if following is None else f"{self.url}{asked.path}?{following}"
        body: Item = {"projects": page, "links": {"next": link, "previous": None}}
        if following is not None:
            body["truncated"] = True
        return reply(200, body)

    def _images(self, user: User, asked: Asked) -> Reply:
        hidden = asked.query.get("os_hidden") == "true"
        page, following = _page(
            asked, [each for each in user.images if each["os_hidden"] is hidden]
        )
        body: Item = {"images": page, "first": "/v2/images", "schema": "/v2/schemas/images"}
        if following is not None:
            body["next"] = f"/v2/images?{following}"
        return reply(200, body)


def _page(asked: Asked, items: list[Item]) -> tuple[list[Item], str | None]:
    """The items of a page, and the query of the next: there is one if this one is full."""
    limit = min(int(asked.query.get("limit", MAX_LIMIT)), MAX_LIMIT)
    marker = asked.query.get("marker")
    begin = 0 if marker is None else 1 + [each["id"] for each in items].index(marker)
    page = items[begin : begin + limit]
    if len(page) < limit:
        return page, None
    return page, urlencode({**asked.query, "marker": page[-1]["id"]})


def serve(cloud: FakeCloud) -> Iterator[FakeCloud]:
    """The cloud, reachable at ``cloud.url`` until the generator is closed."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._do()

        def do_POST(self) -> None:
            self._do()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def _do(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            version = self.headers.get("OpenStack-API-Version")
            asked = Asked(
                self.command,
                parts.path,
                dict(parse_qsl(parts.query)),
                None if version is None else version.split()[-1],
                self.headers.get("X-Auth-Token"),
            )
            done = cloud.answer(asked, body)
            self.send_response(done.status)
            names = {name.lower() for name, _value in done.headers}
            for name, value in done.headers:
                self.send_header(name, value)
            if "content-length" not in names:
                self.send_header("Content-Length", str(len(done.body)))
            self.end_headers()
            self.wfile.write(done.body)

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client may hang up."""
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
