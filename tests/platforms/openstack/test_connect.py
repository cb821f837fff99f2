"""What is said of a cloud that cannot be entered."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.fleet.receiver import certificate, receiving
from tests.platforms.openstack.cloud import PASSWORD, FakeCloud, silent_until
from tests.platforms.openstack.conftest import CLOUD
from tests.platforms.openstack.entering import connect
from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.connect import CloudLogin


def refused(name: str, *, deadline: float = 30) -> str:
    with pytest.raises(TargetError) as caught:
        connect(name, deadline=deadline)
    assert caught.value.file == f"openstack:{name}"
    assert PASSWORD not in str(caught.value)
    return caught.value.message


def write(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str = "clouds.yaml"
) -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    return file


def admin_at(url: str) -> str:
    return "clouds:\n" + CLOUD.format(name="admin", url=url, password=PASSWORD)


def test_a_cloud_that_lets_us_in(cloud: FakeCloud) -> None:
    found = connect("admin", deadline=30)
    assert (found.target, found.project_name) == ("openstack:admin", "admin")
    assert found.admin
    assert not connect("demo", deadline=30).admin
    assert found.endpoint("compute") == (f"{cloud.url}/compute/v2.1", (2, 104))
    assert found.endpoint("image").url == f"{cloud.url}/image/v2"
    assert found.endpoint("network").url == f"{cloud.url}/network/v2.0"


def test_what_the_variables_say(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in {
        "AUTH_URL": f"{cloud.url}/identity/v3", "USERNAME": "demo", "PASSWORD": PASSWORD,
        "PROJECT_NAME": "demo", "USER_DOMAIN_ID": "default", "PROJECT_DOMAIN_ID": "default",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"OS_{key}", value)
    assert connect("envvars", deadline=30).project_name == "demo"


@pytest.mark.usefixtures("cloud")
def test_no_such_cloud(nowhere: Path) -> None:
    assert refused("amdin") == (
        f"{nowhere / 'clouds.yaml'} has no cloud 'amdin'; there are: admin, demo"
    )


@pytest.mark.usefixtures("cloud")
def test_no_variables() -> None:
    assert refused("envvars") == (
        "no OS_* variables are set: source an openrc file, or name a cloud (there are: admin, demo)"
    )


@pytest.mark.usefixtures("nowhere")
def test_no_configuration_at_all() -> None:
    assert refused("admin") == (
        "there is no clouds.yaml (looked in ./, ~/.config/openstack/ and /etc/openstack/, or where "
        "OS_CLIENT_CONFIG_FILE points)"
    )
    assert refused("envvars") == (
        "no OS_* variables are set: source an openrc file, or name a cloud (there is none)"
    )


@pytest.mark.usefixtures("nowhere")
def test_variables_and_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:1/v3")
    assert refused("admin").endswith("; to use the OS_* variables, name openstack:envvars")


def test_a_wrong_password(cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "clouds:\n" + CLOUD.format(name="admin", url=cloud.url, password="wrong")
    write(nowhere, monkeypatch, text)
    assert refused("admin") == (
        f"cannot log in to Keystone at {cloud.url}/identity/v3: Keystone refuses this user: check "
        "user, password (or application credential), project and their domains"
    )


def test_nothing_listens(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(nowhere, monkeypatch, admin_at("http://someone:secret@127.0.0.1:9"))
    assert refused("admin") == (
        "cannot log in to Keystone at http://127.0.0.1:9/identity/v3: nothing is listening "
        "there: is the service running, is the port right?"
    )


def test_no_tls_where_tls_was_meant(
    cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(nowhere, monkeypatch, admin_at(cloud.url.replace("http:", "https:")))
    assert refused("admin").endswith(
        "the server does not speak TLS: should it be http:// instead of https://?"
    )


def test_a_certificate_that_nobody_vouches_for(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(certificate=certificate(nowhere, "localhost")) as server:
        write(nowhere, monkeypatch, admin_at(f"https://localhost:{server.server_port}"))
        assert refused("admin").endswith(
            "its certificate is not trusted: name the CA's file with cacert: in clouds.yaml, or "
            "with OS_CACERT"
        )


def test_an_authority_whose_file_is_missing(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = admin_at("https://127.0.0.1:9") + "    cacert: /nowhere/ca.pem\n"
    write(nowhere, monkeypatch, text)
    missing = "cacert: in clouds.yaml, or OS_CACERT, names a file that does not exist"
    assert missing in refused("admin")


def test_a_keystone_that_never_answers(cloud: FakeCloud) -> None:
    over = threading.Event()
    cloud.intercept = silent_until(over)
    try:
        assert refused("admin", deadline=0.3) == (
            f"cannot log in to Keystone at {cloud.url}/identity/v3: no answer within 0.3 s"
        )
    finally:
        over.set()


def test_a_catalogue_without_the_region(
    cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = admin_at(cloud.url).replace("RegionOne", "RegionTwo")
    write(nowhere, monkeypatch, text)
    found = connect("admin", deadline=30)
    with pytest.raises(
        TargetError, match="compute service in RegionTwo region not found: check re"
    ):
        found.endpoint("compute")


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_openstacksdk_is_missing() -> None:
    code = """
import sys
from vnicaudit.errors import MissingExtraError
sys.modules["openstack.config"] = None
try:
    import vnicaudit.platforms.openstack.read
except MissingExtraError as error:
    print(error)
"""
    assert python(code).startswith("reading an OpenStack cloud needs an optional package: pip ")


def test_images_as_code_are_read_without_it() -> None:
    code = """
import sys
import vnicaudit.platforms.infra_code.terraform
from vnicaudit.knowledge.readiness import emulated_model
print(emulated_model("debian12"), {"openstack", "keystoneauth1"} & set(sys.modules))
"""
    assert python(code) == "e1000e set()"


@pytest.mark.usefixtures("cloud")
def test_requests_are_counted_by_service() -> None:
    found: CloudLogin = connect("admin", deadline=30)
    assert dict(found.session.calls) == {"identity": 2}
    found.endpoint("compute")
    found.endpoint("network")
    assert dict(found.session.calls) == {"identity": 2, "compute": 1}
