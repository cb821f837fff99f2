"""Twelve inputs took their reader four times as long for twice their size: an hour of that fits
into one MiB. Each reader is given pieces that open something and never close it, blanks, digits,
marks and whole documents, more and more of them: a sixth of the pairs, and all with
``--long``."""

import functools
from collections.abc import Callable, Iterator
from io import BytesIO

import pytest

from tests.regressions.hostile_input.growth import MOST, TIMES, cost, ratio
from tests.shares import table
from vnicaudit.audit.reading.files import read_stream
from vnicaudit.cli.wiring.platforms import every_platform

SIZE = 2 * 1024
CLEAR = 0.02
"""Seconds for the largest below which nothing has grown: the square of the smallest is above."""

XML = ("<domain type='kvm'><name>a</name><devices><interface type='bridge'><model type='{}'/>"
       "</interface></devices></domain>\n")  # fmt: skip
NOVA = ("[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n[libvirt]\nvirt_type = kvm\n"
        "num_pcie_ports = {}\n")  # fmt: skip
KUBEVIRT = ("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: a}}\nspec:\n"
            "  template:\n    spec:\n      domain:\n        devices:\n          interfaces:\n"
            "          - name: n\n            model: {}\n")  # fmt: skip
LISTED = ('{{"kind": "List", "items": [{{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", '
          '"metadata": {{"name": "a"}}, "spec": {{"template": {{"spec": {{"domain": {{"devices": '
          '{{"interfaces": [{{"name": "n", "model": "{}"}}]}}}}}}}}}}}}]}}\n')  # fmt: skip
QEMU = "qemu-system-x86_64 -nodefaults -m 1 -netdev {} -device rtl8139,netdev=n\n"
SHELL = "#!/bin/sh\nopenstack image set --property hw_vif_model={} image\n"
ANSIBLE = ("- hosts: all\n  tasks:\n  - openstack.cloud.image:\n      name: a\n"
           "      properties: {{hw_vif_model: {}}}\n")  # fmt: skip
HEAT = ("heat_template_version: wallaby\nresources:\n  a:\n    type: OS::Glance::WebImage\n"
        "    properties:\n      extra_properties: {{hw_vif_model: {}}}\n")  # fmt: skip
LOG = ("2026-11-22 10:00:00.000+0000: starting up libvirt version: 9.0.0, qemu version: 7.2.0, "
       "kernel: 6.1.0, hostname: a\nLC_ALL=C \\\n/usr/bin/qemu-system-x86_64 \\\n-nodefaults \\\n"
       "-device {} \\\n-msg timestamp=on\n")  # fmt: skip
PS = "  PID TTY          TIME CMD\n    1 ?        00:00:01 qemu-system-x86_64 -nic {}\n"
OVERRIDES = "nova_nova_conf_overrides:\n  libvirt: {{rx_queue_size: {}}}\n"
FLAGS = "a:\n  charm: nova-compute\n  options:\n    config-flags: {}\n"
INI_FILE = "- ini_file: path=/etc/nova/nova.conf section=libvirt option=x value={}\n"
STRING = "data:\n  nova.conf: |\n    [libvirt]\n    max_queues = {}\n"
HCL = 'resource "openstack_images_image_v2" "a" {{\n  name = "a"\n  x = {}\n}}\n'

READERS = {
    "XML": XML, "nova.conf": NOVA, "manifest": KUBEVIRT, "listed": LISTED, "command line": QEMU,
    "shell": SHELL, "HCL": HCL, "Ansible": ANSIBLE, "Heat": HEAT, "log": LOG, "ps": PS,
    "overrides": OVERRIDES, "flags": FLAGS, "ini_file": INI_FILE, "string": STRING,
}  # fmt: skip
PIECES = {
    "braces": "{{", "statements": "{%", "unclosed roots": "<domain>\n", "marks": "<", "tags": "<%",
    "declarations": "<?xml ", "comments": "<!--", "blanks": " ", "tabs": "\t", "lines": "\n",
    "zeros": "0", "quotes": '"', "escapes": "\\", "escaped quotes": '\\"', "apostrophes": "'",
    "dollars": "$", "variables": "${", "substitutions": "$(", "backticks": "`", "commas": ",",
    "doubled commas": ",,", "descriptors": "fd ", "lists": "[", "items": "- ", "flow": "[a, ",
    "keys": "a: ", "pairs": "a=b,", "dots": "a.", "hashes": "#", "here": "<<E\n", "ends": "}",
    "heredocs": "@(A)\n",
    "files here": "cat >nova.conf <<E\n[libvirt]\nE\n", "charts": "helm --set a,conf.nova.",
    "percents": "%(", "ats": "@a", "underscores": "_", "parentheses": "(", "pipes": "|",
    "sections": "[libvirt]\n", "options": "[libvirt]\ncpu_mode=x\ny\n", "quoted": "[pci]\\n",
    "interfaces": "<interface type='user'>\n", "programs": "qemu-system-x86_64 ",
    "programs with NICs": "qemu-kvm -nic x, ", "makers": "virt-install \n",
    "strings": '"qemu-kvm", "-m", ', "arguments a line": "qemu-kvm\n-m\n", "nuls": "qemu-kvm\0-m\0",
    "full lines": f"qemu-kvm -m {'x' * 60}\n", "escaped": "&quot;<pre>", "prompts": "(a) ",
    "code comments": "/* ", "code comments in code": '"${/* ',
}  # fmt: skip
STARTS = ("", '"', "%(a)")
"""What a piece stands behind, in a value."""


MANIFEST = "class a {{\n nova_config {{ 'libvirt/virt_type': value => {} }}\n}}\n"
LOCAL_CONF = "[[post-config|$NOVA_CONF]]\n[libvirt]\nvirt_type = {}\n"
READERS |= {
    "Puppet": MANIFEST, "devstack": LOCAL_CONF,
    "commands": "#!/bin/sh\ncrudini --set /etc/nova/nova.conf libvirt virt_type {}\n",
    "client's table": "| Field | Value |\n| vcpus | {} |\n+----+\n",
}  # fmt: skip


def _many(form: str, size: int) -> str:
    """A form with a number in it, over and over, of about a size."""
    return "".join(form.replace("%", str(number)) for number in range(size // len(form)))


SHAPES: dict[str, Callable[[int], str]] = {
    "blocks of Puppet": lambda n: MANIFEST.format("x") + "{" * n + "}" * n,
    "resources in blocks": lambda n: MANIFEST.format("x") + "{" * n + "nova_config{" * (n // 12),
    "titles and attributes": lambda n: (
        "class { [" + "'nova::compute::libvirt'," * (n // 25) + "]: " + _many("a% => 1,", n) + "}"
    ),
    "options set, and removed": lambda n: (
        "crudini --set /etc/nova/nova.conf libvirt virt_type a\n" * (n // 60)
        + "crudini --del /etc/nova/nova.conf libvirt cpu_mode\n" * (n // 60)
    ),
    "other titles and attributes": lambda n: (
        "class { [" + _many("'a%',", n) + "]: " + _many("a% => 1,", n) + "}"
    ),
    "blanks in Juju's flags": lambda n: (
        f"nova-compute: {{config-flags: 'rx_queue_size=a{' ' * n}b,c=d'}}\n"
    ),
    "pipes": lambda n: LOCAL_CONF.format("x") + "[[" + "|" * n,
    "a loop and arguments": lambda n: (
        "- ini_file:\n    path: /etc/nova/nova.conf\n"
        + _many("    a%: 1\n", n) + "  loop: [" + "a," * (n // 2) + "]\n"
    ),
    "documents of one line": lambda n: (
        "#!/bin/sh\ncat >nova.conf" + "<<E" * (n // 6) + "\n" + "[a]\nE\n" * (n // 6)
    ),
    "tables without end": lambda n: "| Field | Value |\n" * (n // 18) + "| vcpus | 1 |\n",
}  # fmt: skip
"""Texts in which two parts grow together."""


def forms(template: str, piece: str) -> Iterator[Callable[[int], bytes]]:
    """Functions that make a text of about a size: the piece in a value, at the end, before."""
    whole = template.format("x")
    for before, after in (
        *(tuple(template.format(f"{start}\0!").split("\0")) for start in STARTS),
        (whole, ""),
        (whole[:-9], ""),
    ):
        yield functools.partial(_filled, before, piece, after)


def _filled(before: str, piece: str, after: str, size: int) -> bytes:
    return (before + piece * (size // len(piece)) + after).encode()


def read(data: bytes) -> None:
    for _item in read_stream(BytesIO(data), "f", every_platform().files):
        pass


def grown(form: Callable[[int], bytes]) -> float:
    """What eight times the size costs over what it costs once, measured until it is clear."""
    large = form(SIZE * TIMES)
    if cost(lambda: read(large), 1) < CLEAR:
        return 0.0
    least = ratio(read, form(SIZE), large, tries=2)
    if least > MOST:
        least = ratio(read, form(4 * SIZE), form(4 * SIZE * TIMES), tries=8)
    return least


@pytest.mark.parametrize(("template", "piece"), table(READERS, PIECES, 6))
def test_no_piece_costs_more_than_its_length(template: str, piece: str) -> None:
    for number, form in enumerate(forms(template, piece)):
        assert grown(form) <= MOST, f"form {number}: {form(40)!r}"


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_no_two_parts_cost_their_product(shape: Callable[[int], str]) -> None:
    assert grown(lambda size: shape(size).encode()) <= MOST


@pytest.mark.parametrize("template", READERS.values(), ids=READERS)
def test_no_number_of_documents_costs_more_than_their_length(template: str) -> None:
    whole = template.format("x").encode()
    assert grown(lambda size: whole * (size // len(whole))) <= MOST
    assert grown(lambda size: (whole + b"---\n") * (size // len(whole))) <= MOST
