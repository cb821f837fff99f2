"""Terraform: images, flavors, and the servers that use both."""

from contextlib import suppress

import pytest

from tests.rows import rows
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.platforms.infra_code import looks_like
from vnicaudit.platforms.infra_code.terraform import read

HCL = """\
# images
resource "openstack_images_image_v2" "jammy" {
  name        = "Ubuntu 22.04"
  disk_format = "qcow2"
  properties = {
    hw_vif_model = "e1000"
    "os_distro"  = var.distro
    os_version : "22.${var.minor}"
  }
}

resource "openstack_images_image_v2" "merged" {
  name       = var.name
  properties = merge(var.common, { hw_vif_model = "e1000" })
}

resource "openstack_compute_flavor_v2" "big" {
  name  = "big"
  vcpus = 8
  extra_specs = { "hw:vif_multiqueue_enabled" = true, (var.key) = "x" }
}

resource "openstack_compute_instance_v2" "server" {
  flavor_id  = openstack_compute_flavor_v2.big.id
  image_name = "${openstack_images_image_v2.jammy.name}"
}
"""

GUEST = """\
resource "libvirt_domain" "web" {
  name = "web"
  type = "kvm"
  vcpu = 4
  os   = { type = "hvm", type_arch = "x86_64", type_machine = "q35" }
  devices = {
    interfaces = [
      {
        source = { bridge = { bridge = "br0" } }
        model  = { type = "E1000" }
        mac    = { address = "52:54:00:AA:00:01" }
      },
      { source = { network = { network = "default" } } },
    ]
  }
}
"""


def _read(text: str) -> list[Image | Flavor]:
    found = read(text.encode(), target="t", file="main.tf")
    return [one for one in found if isinstance(one, Image | Flavor)]


def _guests(text: str) -> list[Domain]:
    found = read(text.encode(), target="t", file="main.tf")
    return [one for one in found if isinstance(one, Domain)]


def test_a_guest_of_libvirt() -> None:
    (domain,) = _guests(GUEST)
    assert (domain.name, domain.declared.vcpus, domain.declared.arch) == ("web", 4, "x86_64")
    assert domain.declared.owner == "terraform"
    assert [(nic.declared.type, nic.declared.model, nic.mac) for nic in domain.nics] == [
        ("bridge", "e1000", "52:54:00:aa:00:01"),
        ("network", None, None),
    ]
    assert [(nic.location.line, nic.lines) for nic in domain.nics] == [
        (8, (("model", 10),)),
        (13, ()),
    ]


@rows
def test_a_guest_that_is_not_understood_is_not_judged(old: str, new: str) -> None:
    assert old in GUEST
    text = GUEST.replace(old, new)
    (domain,) = _guests(text.replace("    ]\n", "    ])\n") if "concat" in new else text)
    assert domain.nics == ()
    audited = DomainAuditor(rule_ids(), every_platform()).audit_domain(domain, HostConfig(), "t")
    (skipped,) = audited.skipped
    assert (skipped.rule, skipped.about.name) == ("*", domain.name)
    assert skipped.needs.startswith("its type and interfaces in full")
    assert audited.findings == ()


def test_interfaces_before_0_9_are_always_virtio() -> None:
    text = b'resource "libvirt_domain" "a" {\n  network_interface {\n    bridge = "b"\n  }\n}\n'
    assert not looks_like(text)
    assert looks_like(GUEST.encode())


def test_properties_with_their_places() -> None:
    image = _read(HCL)[0]
    assert [
        (each.name, each.value, each.certain, str(each.location)) for each in image.properties
    ] == [
        ("hw_vif_model", "e1000", True, "main.tf:6:5"),
        ("os_distro", "var.distro", False, "main.tf:7:5"),
        ("os_version", "22.${var.minor}", False, "main.tf:8:5"),
    ]
    assert (image.name, str(image.location)) == ("Ubuntu 22.04", "main.tf:2:1")
    assert image.location.xpath == "openstack_images_image_v2.jammy"


def test_an_expression_in_place_of_properties_leaves_the_image_open() -> None:
    first, merged, *_rest = _read(HCL)
    assert first.complete
    assert (merged.name, merged.properties, merged.complete) == ("merged", (), False)


def test_a_flavor_knows_what_is_booted_with_it() -> None:
    flavor = _read(HCL)[-1]
    assert isinstance(flavor, Flavor)
    assert (flavor.vcpus, flavor.complete) == (8, False)
    assert [image.name for image in flavor.images] == ["Ubuntu 22.04"]


def test_null_is_no_value() -> None:
    (image,) = _read(
        'resource "openstack_images_image_v2" "a" {\n properties = { hw_vif_model = null }\n}\n'
    )
    assert [each.certain for each in image.properties] == [False]


def test_windows_line_ends() -> None:
    image = _read(HCL.replace("\n", "\r\n"))[0]
    assert str(image.properties[0].location) == "main.tf:6:5"


def test_windows_line_ends_change_nothing_but_themselves() -> None:
    text = HCL.replace('"22.${var.minor}"', '"${<<E\nfoo\nE\n}"') + GUEST
    assert _read(text.replace("\n", "\r\n")) == _read(text)
    assert _guests(text.replace("\n", "\r\n")) == _guests(text)


def test_two_images_of_one_name_are_not_told_apart() -> None:
    text = HCL.replace('"${openstack_images_image_v2.jammy.name}"', '"Ubuntu 22.04"')
    other = 'resource "openstack_images_image_v2" "other" {\n  name = "Ubuntu 22.04"\n}\n'
    used = []
    for each in (text, text + other):
        flavor = _read(each)[-1]
        assert isinstance(flavor, Flavor)
        used.append([str(image.location) for image in flavor.images])
    assert used == [["main.tf:2:1"], []]


@pytest.mark.parametrize("text", [HCL.replace("vcpus = 8", f"vcpus = {'8' * 5000}")])
def test_a_number_that_is_none(text: str) -> None:
    flavor = _read(text)[-1]
    assert isinstance(flavor, Flavor)
    assert flavor.vcpus is None
    (domain,) = _guests(GUEST.replace("vcpu = 4", f"vcpu = {'4' * 5000}"))
    assert domain.declared.vcpus is None


def test_a_guest_that_is_not_xml() -> None:
    (domain,) = _guests(GUEST)
    assert (domain.declared.form, domain.declared.as_written) == ("terraform", True)


def test_broken_hcl_is_an_error_with_its_line() -> None:
    with pytest.raises(TargetError) as caught:
        _read(HCL.replace('name  = "big"', "name  = = big"))
    assert (caught.value.message, caught.value.file, caught.value.line) == (
        "the HCL parser cannot read it: unexpected '='",
        "main.tf",
        18,
    )


@pytest.mark.parametrize("length", range(0, len(HCL), 37))
def test_truncation_is_read_or_refused(length: int) -> None:
    with suppress(TargetError):
        assert len(_read(HCL[:length])) <= 3


def test_what_is_recognised() -> None:
    assert looks_like(HCL.encode())
    assert not looks_like(b'resource "openstack_compute_instance_v2" "a" {}\n')
    assert not looks_like(b'# resource "openstack_images_image_v2" "a" {}\n')
    assert not looks_like(b"openstack_images_image_v2 is a resource\n")
