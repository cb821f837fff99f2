"""Images, flavors and guests in files: what a folder's audit says of them."""

from pathlib import Path

from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.reading.files import read_file
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.finding import Change
from vnicaudit.model.openstack import Image
from vnicaudit.model.report import ReadError

worded = every_platform().wordings.worded
JUDGE = DescriptionAuditor(["VNIC062"], every_platform().wordings)

TERRAFORM = """\
resource "openstack_images_image_v2" "old" {
  name        = "old"
  disk_format = "qcow2"
  properties  = { os_type = "linux", hw_vif_model = "pcnet" }
}
"""


def _read(path: Path, *, explicit: bool = False) -> list[object]:
    return list(read_file(str(path), "t", every_platform().files, explicit=explicit))


def test_a_finding_points_at_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "anything"
    file.write_text(TERRAFORM, "utf-8")
    (image,) = _read(file)
    assert isinstance(image, Image)
    (finding,) = JUDGE.audit(image, "t").findings
    assert (finding.location.line, finding.location.column) == (4, 38)
    assert finding.location.xpath == "openstack_images_image_v2.old"


def test_a_fingerprint_does_not_depend_on_the_line(tmp_path: Path) -> None:
    file = tmp_path / "main.tf"
    marks = []
    for before in ("", "# moved\n\n"):
        file.write_text(before + TERRAFORM, "utf-8")
        (image,) = _read(file)
        assert isinstance(image, Image)
        marks += [
            found.fingerprint
            for found in DescriptionAuditor(["VNIC062"], every_platform().wordings)
            .audit(image, "t")
            .findings
        ]
    assert len(marks) == 2
    assert marks[0] == marks[1]


def test_documentation_about_images_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    for text in (
        f"# Images\n\n```\nopenstack image create a\n{TERRAFORM}```\n",
        f"Images\n======\n\n.. code-block:: terraform\n\n{TERRAFORM}\n",
        "# Images\n\n    $ openstack image set --property hw_vif_model=e1000 a\n",
    ):
        file.write_text(text, "utf-8")
        assert _read(file) == []


def test_a_file_that_cannot_be_parsed_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "main.tf"
    file.write_text(TERRAFORM.replace("properties  =", "properties  = ="), "utf-8")
    message = "the HCL parser cannot read it: unexpected '='"
    assert _read(file) == [ReadError(message, str(file), 4)]


def test_a_byte_order_mark_hides_nothing(tmp_path: Path) -> None:
    file = tmp_path / "main.tf"
    file.write_text(TERRAFORM, "utf-8-sig")
    (image,) = _read(file)
    assert isinstance(image, Image)
    assert (image.location.line, image.location.column) == (1, 1)


def test_a_byte_order_mark_before_a_script(tmp_path: Path) -> None:
    file = tmp_path / "make"
    file.write_text(
        "#!/bin/sh\nopenstack image set --property hw_vif_model=pcnet old\n", "utf-8-sig"
    )
    (image,) = _read(file)
    assert isinstance(image, Image)


def test_utf_16_is_named_where_it_is_about_images(tmp_path: Path) -> None:
    file = tmp_path / "main.tf"
    file.write_bytes(("\ufeff" + TERRAFORM).encode("utf-16-le"))
    assert _read(file) == [ReadError("UTF-16 is not supported; save it as UTF-8", str(file))]
    file.write_bytes("\ufeffa = 1\n".encode("utf-16-be"))
    assert _read(file) == []


def test_words_for_a_guest_of_terraform() -> None:
    model = Change("model", "e1000", "virtio", safe=True)
    assert worded(model, "", "terraform").text == (
        'Set model = { type = "virtio" } of this interface, run terraform apply, then power the '
        "guest off and on."
    )
    queues = Change("queues", "1", "4", safe=True)
    assert worded(queues, "", "terraform").text == (
        "The definition is Terraform's: change the libvirt_domain resource, run terraform apply, "
        "then power the guest off and on."
    )
