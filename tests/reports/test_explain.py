"""One NIC, layer by layer."""

import msgspec

from tests.reports.golden import golden
from tests.reports.nic_samples import LEGACY, REFUSED, WEB
from tests.reports.samples import VHOST_NEEDS, finding
from vnicaudit.audit.judging.domains import nic_row
from vnicaudit.model.finding import Skipped
from vnicaudit.model.report import Explanation, Layer, LayerFact, NextCheck, ServerName
from vnicaudit.reports.explain import explanation_json, explanation_text
from vnicaudit.reports.writers import Options

IT = Explanation(
    nic=nic_row(WEB, LEGACY),
    layers=(
        Layer(
            "domain XML (persistent)",
            "/etc/libvirt/qemu/web-01.xml:18",
            (
                LayerFact("model", "not set"),
                LayerFact("rx_queue_size", "1024", note="dropped: only virtio has rings"),
            ),
        ),
        Layer("network", "qemu:///system", missing="needs a live libvirt connection"),
        Layer("live definition", "qemu:///system"),
        Layer("QEMU command line", "/proc/4711/cmdline",
              (LayerFact("model", "rtl8139", wins=True, note="it is what runs"),)),
    ),
    findings=(finding(),),
    skipped=(Skipped("VNIC020", finding().about, VHOST_NEEDS),),
)  # fmt: skip

AT_80 = golden("explain.at-80.txt")


def test_the_whole_page_at_80_columns() -> None:
    assert explanation_text(IT, Options()) == AT_80


SERVER = ServerName("6e1f1c2e-6a0f", "web-\x1b[31m", "openstack:prod", "project-1", host="cmp1")


def test_the_server_it_is() -> None:
    def second(server: ServerName) -> str:
        text = explanation_text(msgspec.structs.replace(IT, server=server), Options(width=120))
        return text.splitlines()[1]

    assert second(SERVER) == (
        "  server web-\\x1b[31m  6e1f1c2e-6a0f  project project-1  host cmp1  openstack:prod"
    )
    hidden = msgspec.structs.replace(SERVER, project=None, host=None, cloud="lab")
    named = msgspec.structs.replace(SERVER, project_name="shop")
    assert "  project shop  host cmp1" in second(named)
    there = msgspec.structs.replace(hidden, cloud=IT.nic.location.target)
    assert second(hidden) == "  server web-\\x1b[31m  6e1f1c2e-6a0f  lab"
    assert second(there) == "  server web-\\x1b[31m  6e1f1c2e-6a0f"


def test_what_to_check_next_can_be_copied() -> None:
    checks = (
        NextCheck("guest", "ethtool -l IFACE", "Combined is 4"),
        NextCheck("measure", "vnicaudit bench run \x1b[31m", ""),
    )
    text = explanation_text(msgspec.structs.replace(IT, next_checks=checks), Options())
    assert text.partition("What to check next")[2] == (
        ", if it is slow\n"
        "  guest    ethtool -l IFACE  # Combined is 4\n"
        "  measure  vnicaudit bench run \\x1b[31m\n"
    )


def test_the_layer_that_wins_is_green() -> None:
    assert "\x1b[32m← wins\x1b[0m" in explanation_text(IT, Options(color=True))


def test_a_nic_that_does_not_start_and_has_no_finding() -> None:
    nic = nic_row(WEB, REFUSED)
    text = explanation_text(Explanation(nic=nic, layers=()), Options())
    assert text.endswith("  does not start\n\nWhat is wrong\n  nothing found\n")


def test_hostile_layers_are_shown_escaped() -> None:
    layer = Layer("x\x1b", "y\n", (LayerFact("f\u202e", "v\x07", note="n\x9b"),))
    text = explanation_text(Explanation(nic=IT.nic, layers=(layer,)), Options())
    assert "  x\\x1b  y\\n\n    f\\u202e  v\\x07  n\\x9b\n" in text


def test_the_json_reads_back() -> None:
    read = msgspec.json.decode(explanation_json(IT), type=Explanation)
    assert read == IT
