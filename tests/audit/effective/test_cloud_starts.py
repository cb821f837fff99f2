"""As ``test_starts.py``, for servers: what an error finding says does not start, does not start;
and whatever a cloud says, no rule crashes."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.audit.clouds import TARGET, flavor, image, server
from tests.shares import examples
from vnicaudit.audit.explain_layers import layers
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.openstack import VIF_MODELS, NodeFacts, NovaVersions, PortBinding, ServerConfig

ENGINE = DomainAuditor(rule_ids(), every_platform())
ODD = "\x1b[2J" + "x" * 300
MODELS = st.sampled_from([None, *sorted(VIF_MODELS), "nonic", "", ODD])
FLAGS = st.sampled_from([None, "true", "False", "", ODD])
KINDS = ("ethernet", "bridge", "direct", "vhostuser", "vdpa", "hostdev", None)
WITHOUT_MODEL = ("vdpa", "hostdev")


def _port(kind: str | None, model: str | None, queues: int | None, packed: str | None) -> NicConfig:
    """A port as the reader gives it: with what Nova writes for its kind."""
    if kind in WITHOUT_MODEL:
        model = queues = None
    packed = None if kind == "hostdev" else packed
    return NicConfig(
        type=kind or "network", actual_type=kind, model=model, queues=queues, packed=packed
    )


PORTS = st.builds(
    _port,
    st.sampled_from(KINDS),
    MODELS,
    st.sampled_from([None, 2, 8, 300]),
    st.sampled_from([None, "on"]),
)


def _set(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


PROPERTIES = st.builds(
    _set,
    hw_vif_model=MODELS,
    hw_vif_multiqueue_enabled=FLAGS,
    hw_virtio_packed_ring=FLAGS,
    os_distro=st.sampled_from([None, "ubuntu22.04", "windows", ODD]),
)
SPECS = st.builds(
    _set,
    hw_vif_multiqueue_enabled=FLAGS,
    hw_virtio_packed_ring=FLAGS,
    hw_mem_page_size=st.sampled_from([None, "large", ODD]),
)
NODES = st.none() | st.builds(
    lambda **options: NodeFacts("nova.conf", tuple(_set(**options).items())),
    use_virtio_for_bridges=st.sampled_from([None, "true", "false"]),
    rx_queue_size=st.sampled_from([None, "", "512"]),
    tx_queue_size=st.sampled_from([None, "", "1024"]),
    max_queues=st.sampled_from([None, "", "4"]),
    virt_type=st.sampled_from([None, "kvm", "qemu"]),
)


def _server_config(
    kept: dict[str, str], now: dict[str, str], specs: dict[str, str], vcpus: int, **more: Any
) -> ServerConfig:
    return ServerConfig(
        stored_properties=tuple(sorted(kept.items())),
        image=image(**now),
        flavor=flavor("m1", vcpus, **specs),
        **more,
    )


CONFIGS = st.builds(
    _server_config,
    PROPERTIES,
    PROPERTIES,
    SPECS,
    st.sampled_from([1, 2, 64]),
    status=st.sampled_from(["ACTIVE", "SHUTOFF", "SHELVED_OFFLOADED", ODD]),
    properties_source=st.sampled_from(["api", "image", "unseen"]),
    image_state=st.sampled_from(["there", "gone", "volume", "unseen"]),
    nova=st.sampled_from([None, NovaVersions("2.88", 23, 24), NovaVersions("2.104", 34, 34)]),
    node=NODES,
)
BINDINGS = st.lists(
    st.sampled_from(
        [PortBinding(), PortBinding("normal", "ovs"), PortBinding("normal", "vhostuser", "netdev"),
         PortBinding("vdpa", "ovs"), PortBinding("direct", "hw_veb"),
         PortBinding("normal", "binding_failed"), PortBinding(ODD, ODD, ODD)]
    ),
    max_size=3,
)  # fmt: skip


@settings(max_examples=examples(500))
@given(
    st.lists(PORTS, min_size=1, max_size=3),
    CONFIGS,
    BINDINGS,
    st.sampled_from([None, "x86_64", "s390x"]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, Version(7, 2), Version(10)]),
)
def test_starts_never_contradicts_an_error(
    ports: list[NicConfig],
    config: ServerConfig,
    bindings: list[PortBinding],
    arch: str | None,
    shared: bool | None,
    qemu: Version | None,
) -> None:
    one = server(1, *ports, kept=config)
    kept = replace(config, bindings=tuple(bindings))
    declared = replace(one.declared, described_by=kept, arch=arch, shared_memory=shared)
    domain, host = replace(one, declared=declared), HostConfig(qemu_version=qemu)
    audited = ENGINE.audit_domain(domain, host, TARGET)
    assert audited.crashed == ()
    for nic in domain.nics:
        effective = ENGINE.effective(nic, domain, host)
        errors = [
            finding
            for finding in audited.findings
            if finding.severity == "error" and finding.about.index == nic.index
        ]
        if errors:
            assert not effective.starts, errors[0]
        assert list(layers(domain, nic, host, effective, every_platform().title(domain.declared)))
