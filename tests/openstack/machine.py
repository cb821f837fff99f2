"""The machine that the testbed is: its namespaces, its files, its daemons."""

import base64
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from string import Template

from tests.openstack.namespaces import DAEMON, Namespaces
from tests.rig.hypervisor import QEMU_CONF
from tests.rig.process import wait_for

TESTBED = DAEMON.parent
KEYSTONE = "http://127.0.0.1:5000/v3"
DATABASE = "mysql+pymysql://root@127.0.0.1"
NOVA = "nova-packages"
MESSAGES = "rabbit://guest:guest@127.0.0.1:5672/"
_IDENTITY = {
    "auth_type": "password", "auth_url": KEYSTONE, "username": "admin", "password": "pw",
    "project_name": "admin", "user_domain_id": "default", "project_domain_id": "default",
    "region_name": "RegionOne",
}  # fmt: skip
_TOKEN = {"www_authenticate_uri": KEYSTONE, "service_token_roles_required": "false", **_IDENTITY}
_SQL = ("mysql", "--user=root", "--batch", "--skip-column-names")
CREDENTIALS = {
    "OS_AUTH_URL": KEYSTONE, "OS_USERNAME": "admin", "OS_PASSWORD": "pw",
    "OS_PROJECT_NAME": "admin", "OS_USER_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_ID": "default",
    "OS_REGION_NAME": "RegionOne", "OS_IDENTITY_API_VERSION": "3", "OS_INTERFACE": "public",
}  # fmt: skip
"""The administrator's, as openstacksdk and the commands of OpenStack read them."""


class Machine:
    """What runs in the namespaces, and where its files are (the same inside and outside)."""

    def __init__(self, namespaces: Namespaces, state: Path, packages: Path) -> None:
        self.namespaces = namespaces
        self.state = state
        self.packages = packages
        self.nova = state / NOVA
        """Where Nova's packages are, which may be of another release."""
        path = f"{packages}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self.env = {"PATH": path, "HOME": str(state), "LANG": "C.UTF-8", **CREDENTIALS}

    def output(self, *argv: str | Path, stdin: str = "") -> str:
        """Standard output of one of OpenStack's own programs, which must succeed."""
        return self.namespaces.output(*argv, env=self._env_of(argv[0]), stdin=stdin)

    def start(self, name: str, *argv: str | Path, env: Mapping[str, str] | None = None) -> None:
        """Start a daemon."""
        command = ["bash", DAEMON, self.log(name), *argv]
        process = self.namespaces.output(*command, env={**self._env_of(argv[0]), **(env or {})})
        self._pid(name).write_text(process)

    def process(self, name: str) -> str:
        """The id of a daemon inside, which is that of its process group too."""
        return self._pid(name).read_text().strip()

    def stop(self, name: str) -> None:
        """End a daemon at once: nova-compute takes a minute to end by itself."""
        process = self.process(name)
        self.output("kill", "-KILL", process)
        proc = self.namespaces.root / "proc" / process
        wait_for(lambda: not proc.exists(), f"{name} has ended")

    def serve(self, name: str, port: int, application: str) -> None:
        """Start a daemon that serves one of the APIs."""
        env = {
            "GUNICORN_CMD_ARGS": f"--config={TESTBED}/gunicorn.conf.py",
            "WSGI_APP": f"{application}:application",
            "WSGI_BIND": f"127.0.0.1:{port}",
            f"OS_{name.upper()}_CONFIG_DIR": f"/etc/{name}",
        }
        self.start(name, "gunicorn", env=env)

    def wait_for_port(self, port: int) -> None:
        """Wait until something listens there."""
        wait_for(lambda: self._listens(port), f"port {port} is listened to")

    def wait_for_sql(self) -> None:
        """Wait until the database answers."""

        def answers() -> bool:
            return self.namespaces.run(*_SQL, env=self.env, stdin="select 1").returncode == 0

        wait_for(answers, "MariaDB answers")

    def sql(self, statement: str) -> list[list[str]]:
        """The rows that the database answers."""
        said = self.output(*_SQL, stdin=statement)
        return [line.split("\t") for line in said.splitlines()]

    def log(self, name: str) -> Path:
        """What a daemon says."""
        return self.state / f"log/{name}.log"

    def _env_of(self, program: str | Path) -> dict[str, str]:
        """Nova's programs, and those they start by name (privsep-helper), are of its packages."""
        nova = f"{self.nova}/bin:" if Path(program).name.startswith("nova-") else ""
        return {**self.env, "PATH": nova + self.env["PATH"]}

    def _pid(self, name: str) -> Path:
        return self.state / f"log/{name}.pid"

    def _listens(self, port: int) -> bool:
        with self.namespaces.network(), socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0


def write_configuration(state: Path, packages: Path, nova: Path) -> None:
    """Fill ``state`` with what is to be in /etc, and with the folders it names."""
    for folder in ("log", "glance", "neutron", "lock", "rabbit", "nova/cmp1", "nova/fake1"):
        (state / folder).mkdir(parents=True)
    for folder in ("fernet", "credential"):  # as keystone-manage fernet_setup would
        (state / folder).mkdir(mode=0o700)
        for name in ("0", "1"):
            (state / folder / name).write_bytes(base64.urlsafe_b64encode(os.urandom(32)))
    (state / NOVA).symlink_to(nova)
    etc = state / "etc"
    shutil.copytree(TESTBED / "etc", etc)
    for service, where in (("glance", packages), ("neutron", packages), ("nova", nova)):
        shutil.copytree(where / "etc" / service, etc / service, dirs_exist_ok=True)
    (etc / "libvirt").mkdir()
    shutil.copy(QEMU_CONF, etc / "libvirt")
    words = {
        "state": str(state), "database": DATABASE, "messages": MESSAGES, "keystone": KEYSTONE,
        "identity": _lines(_IDENTITY), "token": _lines(_TOKEN),
        "host": "cmp1", "driver": "libvirt.LibvirtDriver",
    }  # fmt: skip
    fake = {**words, "host": "fake1", "driver": "fake.FakeDriver"}
    _fill(TESTBED / "etc/nova/nova.conf", etc / "nova/nova-fake.conf", fake)
    for path in (TESTBED / "etc").rglob("*.*"):
        _fill(path, etc / path.relative_to(TESTBED / "etc"), words)


def _fill(template: Path, place: Path, words: Mapping[str, str]) -> None:
    place.write_text(Template(template.read_text()).substitute(words))


def _lines(options: Mapping[str, str]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in options.items())
