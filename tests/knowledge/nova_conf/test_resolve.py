"""What Nova sees of what is written: compared with oslo.config itself, given Nova's own options."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oslo_config import cfg

from tests.rows import rows
from tests.shares import examples
from vnicaudit.knowledge.nova_conf.options import knowledge, release_of
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.nova import NovaConfig
from vnicaudit.platforms.nova_conf.read import read_bytes
from vnicaudit.platforms.nova_conf.siblings import read_together

_RINGS = [256, 512, 1024]


def nova() -> cfg.ConfigOpts:
    """The options as nova/conf/{libvirt,pci,base,compute}.py of 34.0 registers them."""
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.StrOpt("my_ip", default="192.0.2.9"), cfg.StrOpt("compute_driver")])
    conf.register_opts(
        [
            cfg.BoolOpt("use_virtio_for_bridges", default=True),
            cfg.IntOpt("rx_queue_size", choices=_RINGS),
            cfg.IntOpt("tx_queue_size", choices=_RINGS),
            cfg.IntOpt("max_queues", min=1),
            cfg.StrOpt("virt_type", default="kvm", choices=["kvm", "lxc", "qemu", "parallels"]),
        ],
        "libvirt",
    )
    old = [
        cfg.DeprecatedOpt("passthrough_whitelist", group="pci"),
        cfg.DeprecatedOpt("pci_passthrough_whitelist", group="DEFAULT"),
    ]
    conf.register_opts([cfg.MultiStrOpt("device_spec", default=[], deprecated_opts=old)], "pci")
    conf.register_opts([cfg.BoolOpt("report_in_placement", default=False)], "pci")
    return conf


def theirs(files: list[Path], section: str, name: str) -> Any:
    """The value oslo.config gives, as text; ``refused`` where it raises."""
    conf = nova()
    conf([part for file in files for part in ("--config-file", str(file))], default_config_dirs=[])
    try:
        value = conf[section][name]
    except Exception:
        return "refused"
    return value if isinstance(value, list) else str(value)


def ours(config: NovaConfig, section: str, name: str) -> Any:
    """The value as it is read here, in the same spelling; ``open`` where it is not certain."""
    known = knowledge().options[section, name]
    form = known.form
    assert form is not None
    if form.multi:
        return [option.value for option in config.values(section, name)]
    option = config.winner(section, name)
    if option is not None and not option.certain:
        return "open"
    text = form.default if option is None else option.value
    if text is None or (form.kind == "int" and not text.strip()):
        return "None"
    if not form.accepts(text):
        return "refused"
    plain = form.plain(text)
    return plain.capitalize() if form.kind == "bool" else plain


COMPARED = [
    ("libvirt", "use_virtio_for_bridges"),
    ("libvirt", "rx_queue_size"),
    ("libvirt", "max_queues"),
    ("libvirt", "virt_type"),
    ("pci", "device_spec"),
]
_SECTIONS = st.sampled_from(["[DEFAULT]", "[libvirt]", "[LibVirt]", "[pci]", "[other]"])
_NAMES = st.sampled_from([
    "use_virtio_for_bridges", "rx_queue_size", "tx_queue_size", "max_queues", "virt_type", "my_ip",
    "device_spec", "passthrough_whitelist", "pci_passthrough_whitelist", "report_in_placement",
])  # fmt: skip
_VALUES = st.sampled_from([
    "true", "OFF", "maybe", "", "256", "512", " 1024", "+1", "0x10", "1_0", "0", "kvm", "KVM",
    "qemu", "$rx_queue_size", "${libvirt.virt_type}", "$libvirt.max_queues", "$my_ip",
    "$undefined",
    "${DEFAULT.my_ip}", "$use_virtio_for_bridges", "a$$b", "\\\\$my_ip", "$", '"kvm"', "'256'",
    "x\n  y", "1 # no comment", "$report_in_placement", "${pci.report_in_placement}",
])  # fmt: skip
_LINES = st.one_of(
    _SECTIONS,
    st.builds("{} = {}".format, _NAMES, _VALUES),
    st.builds("{}:{}".format, _NAMES, _VALUES),
    st.sampled_from(["", "# note", "; note"]),
)
_FILES = st.lists(st.lists(_LINES, max_size=12).map("\n".join), min_size=1, max_size=3)


@settings(
    deadline=None,
    max_examples=examples(300),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(_FILES)
def test_values_are_those_of_oslo_config(tmp_path: Path, texts: list[str]) -> None:
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.conf")
        files[-1].write_text("[other]\n" + text + "\n")
    config = next(iter(read_together(tuple(map(str, files)), "t")))
    assert isinstance(config, NovaConfig)
    for section, name in COMPARED:
        mine, real = ours(config, section, name), theirs(files, section, name)
        if mine == "open":
            assert real == "refused", (section, name)
        elif isinstance(mine, list) and any("$" in text for text in texts):
            assert real == "refused" or len(mine) == len(real)
        elif isinstance(mine, list):
            assert sorted(mine) == sorted(real)  # in another order where the names differ
        else:
            assert mine == real, (section, name)


def config(text: str) -> NovaConfig:
    return read_bytes(text.encode(), target="t", file="nova.conf")


@rows
def test_a_reference_is_replaced_by_its_value_or_left_open(text: str, value: str | None) -> None:
    option = config(f"[libvirt]\n{text}\n").winner("libvirt", "tx_queue_size")
    assert option is not None
    assert (option.value if option.certain else None) == value


def test_a_custom_option_is_none_that_oslo_config_would_find() -> None:
    found = config("[DEFAULT]\nmine = 512\n[libvirt]\nrx_queue_size = $mine\n")
    option = found.winner("libvirt", "rx_queue_size")
    assert option is not None
    assert not option.certain


def test_an_old_name_stands_for_the_current_one() -> None:
    found = config("[DEFAULT]\npci_passthrough_whitelist = {}\n")
    (option,) = found.values("pci", "device_spec")
    assert option.alias == "DEFAULT/pci_passthrough_whitelist"
    assert option.written == "[DEFAULT] pci_passthrough_whitelist"
    assert str(found.place("pci/device_spec")) == "nova.conf:2:1"


def test_a_release_that_does_not_know_the_new_name_reads_the_old_one() -> None:
    text = "[pci]\ndevice_spec = {}\npassthrough_whitelist = {}\n"
    found = as_of(config(text), release_of("yoga"))
    statuses = {o.name: o.known.status for o in found.options if o.known is not None}
    assert statuses == {"device_spec": "future", "passthrough_whitelist": "current"}
    again = as_of(found, release_of("zed"))
    assert [o.name for o in again.options] == ["device_spec", "device_spec"]


def test_another_release_is_asked_about_what_stands_in_the_file() -> None:
    text = "[DEFAULT]\nmy_ip = 192.0.2.1\nhost = a$$my_ip\nstate_path = /x/$my_ip\n"
    found = config(text)
    for seen in (found, as_of(found, release_of("zed")), as_of(found)):
        assert [option.value for option in seen.options] == ["192.0.2.1", "a$my_ip", "/x/192.0.2.1"]
        assert [option.raw for option in seen.options] == ["", "a$$my_ip", "/x/$my_ip"]


def test_a_circle_is_open_and_what_is_beside_it_is_not() -> None:
    circle = "my_ip = $host\nhost = $my_ip\ninstances_path = $host\n"
    found = config(f"[DEFAULT]\n{circle}state_path = /x\n[libvirt]\nvirt_type = kvm\n")
    certain = {option.name: option.certain for option in found.options}
    assert [name for name, known in certain.items() if not known] == [
        "my_ip", "host", "instances_path"
    ]  # fmt: skip
