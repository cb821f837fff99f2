"""NICs that ``<qemu:commandline>`` adds, and devices that are kept from the guest."""

from tests.rows import rows_of_tuples
from vnicaudit.audit.effective.resolve import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.read import read_bytes

NS = "http://libvirt.org/schemas/domain/qemu/1.0"
XML = f"""<domain type='kvm' xmlns:q='{NS}'>
  <name>a</name>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='user'><model type='virtio'/></interface>
  </devices>
  <q:commandline>
    <q:arg value='-netdev'/>
    <q:arg value='tap,id=own,ifname=tap7'/>
    <q:arg value='-device'/>
    <q:arg value='virtio-net-pci,netdev=own,rx_queue_size=1024,mac=52:54:00:00:00:0A,id=own0'/>
    <q:env name='A' value='B'/>
  </q:commandline>
</domain>
"""


def _domain(xml: str) -> Domain:
    (domain,) = read_bytes(xml.encode(), target="t", file="a.xml")
    return domain


def test_a_nic_behind_libvirts_back() -> None:
    domain = _domain(XML)
    own = domain.nics[1]
    assert (own.index, own.mac, own.alias) == (1, "52:54:00:00:00:0a", "own0")
    assert (own.declared.origin, own.declared.type, own.declared.rx_queue_size) == (
        "commandline", "ethernet", 1024,
    )  # fmt: skip
    assert (own.location.file, own.location.line) == ("a.xml", 11)
    assert own.location.xpath == "/domain/*[local-name()='commandline']/*[local-name()='arg'][4]"
    assert (domain.declared.nics, domain.unread) == (2, ())


def test_it_has_no_vhost_unless_its_arguments_say_so() -> None:
    domain = _domain(XML)
    own = domain.nics[1]
    found = resolve(own.declared, domain.declared, HostConfig(vhost_net=True), own.running)
    assert found.vhost.effective is False
    assert found.vhost.reason == "seen in QEMU's arguments in <qemu:commandline>"
    assert found.rx_queue_size.effective == 1024


def test_the_prefix_is_free_and_the_namespace_is_not() -> None:
    assert len(_domain(XML.replace("q:", "ns0:").replace(":q=", ":ns0=")).nics) == 2
    assert len(_domain(XML.replace(NS, "http://example.org/other")).nics) == 1


def test_arguments_without_a_nic() -> None:
    xml = XML.replace("-netdev", "-unknown").replace("-device", "-other")
    assert len(_domain(xml).nics) == 1


CUT = '{"driver":"e1000","netdev":"own"'
BROKEN = "<qemu:arg> not understood: -device: JSON that is cut off or malformed"


def _with(*values: str) -> Domain:
    """A definition whose arguments stand in the lines from 2 on."""
    args = "".join(f'<q:arg value="{value}"/>\n'.replace("\0", "&quot;") for value in values)
    return _domain(
        f"<domain type='kvm' xmlns:q='{NS}'><name>a</name><q:commandline>\n{args}"
        "</q:commandline><devices><interface type='user'><model type='virtio'/></interface>"
        "</devices></domain>"
    )


def test_arguments_that_are_cut_off_cost_themselves() -> None:
    domain = _with("-device", CUT.replace('"', "\0"), "-device", "rtl8139,id=x")
    assert [nic.declared.model for nic in domain.nics] == ["virtio", "rtl8139"]
    assert domain.nics[1].location.line == 5
    assert domain.unread == (ReadError(BROKEN, "a.xml", 3),)


def test_a_netdev_that_is_cut_off_leaves_its_nic() -> None:
    domain = _with("-netdev", "{\0type\0:\0tap\0", "-device", "e1000,netdev=own")
    assert [nic.declared.type for nic in domain.nics] == ["user", "none"]
    assert domain.unread == (ReadError(BROKEN.replace("device", "netdev"), "a.xml", 3),)


@rows_of_tuples
def test_arguments_that_do_not_fit_together(
    values: tuple[str, ...], line: int, problem: str
) -> None:
    domain = _with(*values)
    assert [nic.declared.model for nic in domain.nics] == ["virtio"]
    assert ReadError(f"<qemu:arg> not understood: {problem}", "a.xml", line) in domain.unread


def test_an_argument_without_a_value_is_none_to_libvirt() -> None:
    """``No qemu command-line argument specified``, qemuDomainDefNamespaceParseCommandlineArgs."""
    (problem,) = _domain(XML.replace("<q:arg value='-netdev'/>", "<q:arg/>")).unread
    assert problem == ReadError(
        "<qemu:arg> not understood: it has no value=: libvirt refuses the definition", "a.xml", 8
    )


def test_the_machine_is_the_definitions() -> None:
    """``-nic`` without a model becomes the machine's own default, e1000e on q35."""
    xml = XML.replace("'-netdev'", "'-nic'").replace("tap,id=own", "tap,id=nic0")
    models = [nic.declared.model for nic in _domain(xml).nics]
    assert models == ["virtio", "e1000e", "virtio"]


def test_ten_thousand_arguments_are_read_and_the_rest_is_named() -> None:
    values = ["-device", "e1000"] * 5000
    assert (len(_with(*values).nics), _with(*values).unread) == (5001, ())
    domain = _with(*values, "-device", "e1000")
    assert len(domain.nics) == 5001
    assert domain.unread == (
        ReadError(
            "<qemu:arg> not understood: more than 10,000 arguments: this one and the rest are "
            "not read",
            "a.xml",
            10002,
        ),
    )


def test_an_option_whose_value_is_beyond_the_limit_is_not_without_one() -> None:
    domain = _with("-S", *["-device", "e1000"] * 5000)
    assert [error.line for error in domain.unread] == [10002]
    assert "more than 10,000 arguments" in domain.unread[0].message


def test_what_is_wrong_is_named_a_hundred_times() -> None:
    domain = _with(*["-device", "{"] * 102)
    assert len(domain.unread) == 101
    assert domain.unread[99] == ReadError(BROKEN, "a.xml", 201)
    assert domain.unread[100] == ReadError("2 more <qemu:arg> not understood", "a.xml", 203)


def test_all_commandline_elements_count() -> None:
    """As for libvirt, which reads ``./qemu:commandline/qemu:arg`` in document order."""
    half = "<q:arg value='-device'/>\n  </q:commandline>\n  <q:commandline>"
    domain = _domain(XML.replace("<q:arg value='-device'/>", half))
    own = domain.nics[1]
    assert (own.mac, own.declared.type, own.location.line) == ("52:54:00:00:00:0a", "ethernet", 13)
    assert own.location.xpath == (
        "/domain/*[local-name()='commandline'][2]/*[local-name()='arg'][1]"
    )
    assert domain.unread == ()


def test_memory_that_any_of_them_shares() -> None:
    more = "<q:commandline><q:arg value='-object'/><q:arg value='memory-backend-file'/>"
    text = XML.replace("<q:commandline>", f"{more}</q:commandline><q:commandline>")
    assert (_domain(XML).declared.shared_memory, _domain(text).declared.shared_memory) == (
        False, None,
    )  # fmt: skip


def test_a_device_kept_from_the_guest_is_none_of_its_nics() -> None:
    """``<address type='unassigned'/>``: libvirt detaches it from the host and goes no further."""
    hostdev = (
        "<hostdev type='pci'><source><address bus='1' slot='0' function='{}'/></source>{}</hostdev>"
    )
    devices = hostdev.format(0, "<address type='unassigned'/>") + hostdev.format(1, "")
    domain = _domain(f"<domain><name>a</name><devices>{devices}</devices></domain>")
    assert [nic.source for nic in domain.nics] == ["0000:01:00.1"]


def test_a_model_that_says_nothing_is_no_model() -> None:
    """Measured with libvirt 9.0 (tests/conformance): both become the default, rtl8139."""
    nic = "<interface type='user'><model type='{}'/></interface>"
    devices = nic.format("") + nic.format("Unknown") + nic.format("VirtIO")
    domain = _domain(f"<domain><name>a</name><devices>{devices}</devices></domain>")
    assert [nic.declared.model for nic in domain.nics] == [None, None, "virtio"]
