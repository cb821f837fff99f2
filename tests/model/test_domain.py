"""What describes a domain says what its form is."""

import msgspec
import pytest

from vnicaudit.model.decoding import msgpack_decoder
from vnicaudit.model.domain import Domain, DomainConfig, FromManifest, Marked, Server
from vnicaudit.model.finding import Form, Location, Owner, Ref
from vnicaudit.model.kubevirt import Manifest
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import CloudServer, ServerConfig

MANIFEST, SERVER = Manifest(preference="fedora"), ServerConfig(status="ACTIVE")
KINDS = [
    (DomainConfig(described_by="live"), "live", None, None),
    (DomainConfig(described_by="dump", joined_server=SERVER), "dump", None, SERVER),
    (DomainConfig(described_by=MANIFEST), "manifest", MANIFEST, None),
    (DomainConfig(described_by=SERVER), "server", None, SERVER),
]


@pytest.mark.parametrize(("config", "form", "manifest", "server"), KINDS)
def test_form(
    config: DomainConfig, form: Form, manifest: Manifest | None, server: ServerConfig | None
) -> None:
    assert (config.form, config.manifest, config.server) == (form, manifest, server)
    assert config.kind == (form if form in ("manifest", "server") else "definition")
    assert config.is_server is (form == "server")


@pytest.mark.parametrize(("config", "form"), [(kind[0], kind[1]) for kind in KINDS])
def test_it_comes_back_from_another_process(config: DomainConfig, form: Form) -> None:
    read = msgpack_decoder(DomainConfig).decode(msgspec.msgpack.encode(config))
    assert (read, read.form) == (config, form)


def test_what_nova_keeps_stands_beside_a_definition_or_is_what_there_is() -> None:
    other = ServerConfig(status="SHUTOFF")
    assert DomainConfig(described_by="live").with_server(other) == DomainConfig(
        described_by="live", joined_server=other
    )
    assert DomainConfig(described_by=SERVER).with_server(other) == DomainConfig(described_by=other)


def test_a_server_is_no_domain_and_its_nic_is_a_nic() -> None:
    nic = Nic(1, NicConfig(), Location("t"), mac="52:54:00:00:00:01")
    domain = Domain("a", DomainConfig(), Location("t"), (nic,), uuid="u")
    assert domain.ref == Ref("domain", "a", "u")
    assert domain.ref_of(nic) == Ref("nic", "a", "u", "52:54:00:00:00:01", 1)
    declared = DomainConfig(described_by=SERVER)
    server = Server("a", declared, Location("t"), uuid="u", cloud=CloudServer("u", "a"))
    assert (server.ref, server.config) == (Ref("server", "a", "u"), SERVER)


def test_a_server_that_is_described_by_something_else_is_a_mistake() -> None:
    joined = DomainConfig(described_by="live", joined_server=SERVER)
    server = Server("a", joined, Location("t"), uuid="u", cloud=CloudServer("u", "a"))
    with pytest.raises(TypeError, match="u is a server, and described by a definition"):
        _ = server.config


@pytest.mark.parametrize("known_by", [None, Marked("#1"), FromManifest("preference.yaml")])
def test_which_one_of_its_file_it_is(known_by: Marked | FromManifest | None) -> None:
    domain = Domain("a", DomainConfig(), Location("t"), known_by=known_by)
    assert domain.mark == ("#1" if isinstance(known_by, Marked) else "")
    assert msgpack_decoder(Domain).decode(msgspec.msgpack.encode(domain)) == domain


@pytest.mark.parametrize(
    ("owner", "uuid", "expected"),
    [("nova", "u", "u"), ("nova", None, None), ("libvirt", "u", None)],
)
def test_the_uuid_that_nova_gave_it(owner: Owner, uuid: str | None, expected: str | None) -> None:
    domain = Domain("a", DomainConfig(owner=owner), Location("t"), uuid=uuid)
    assert domain.nova_uuid == expected
