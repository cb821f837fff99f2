"""Random folders of nova.conf: files, folders beside them, copies, and what people write there.

In half of the parts nothing shows that they are Nova's: their name and place decide.
"""

from pathlib import Path
from random import Random

from vnicaudit.knowledge.nova_conf.options import knowledge

_VALUES = {
    "bool": ("true", "False", "yes", "0", "on", "TRUE", "maybe", "", "2", '"true"', "$debug"),
    "int": (
        "0",
        "1",
        "256",
        "512",
        "1024",
        "0512",
        "+8",
        "1_0",
        "-1",
        "",
        "8 ",
        "ten",
        "99",
        "3.0",
    ),
    "float": ("1", "0.5", "1e3", "x", ""),
    "str": ("kvm", "qemu", "KVM", "", "x y", '"kvm"', "lxc", "ümlaut", "a#b", "a ; b"),
    "list": ("normal", "normal, direct", "true", "", "vdpa,", "Normal", "normal,,direct"),
    "map": ("node:0,size:2048,count:64", "node:0", "a,b:1", "a:1,b", "a:1,a:2", ":1", "", "x"),
    "other": ("", "q35", "x86_64=q35", "a, b", '{"devname": "eth0"}', "a:b"),
}
_REFERENCES = (
    "$my_ip", "${my_ip}", "$rx_queue_size", "${libvirt.rx_queue_size}", "$virt_type", "$cpu_mode",
    "$no_such_option", "$libvirt_type", "$max_queues", "${DEFAULT.my_ip}", "a$$b", "\\$my_ip",
    "$num_pcie_ports", "${workarounds.disable_rootwrap}", "$use_virtio_for_bridges",
)  # fmt: skip
_NOISE = (
    "# a comment", "; another", "", "max_queue = 4", "rx_queue_sizes = 512", "my_own = x",
    "debug = true", "transport_url = rabbit://u:p@h", "cpu_mode = none", "my_ip = 192.0.2.7",
)  # fmt: skip
_DRIVERS = ("libvirt.LibvirtDriver", "libvirt.LibvirtDriver", "", "ironic.IronicDriver")
_BROKEN = ("[libvirt", "[unclosed", "junk line", "= nothing", " starts with a blank", "[]", "]")
_COPIES = ("nova.conf.bak", "nova.conf.rpmsave", ".nova.conf.swp", "nova.conf.dpkg-old")


def folder(home: Path, draw: Random) -> None:
    """Write one."""
    (home / "nova.conf").write_bytes(_bytes(draw, driver=True))
    if draw.random() < 0.3:
        (home / "nova-compute.conf").write_bytes(_bytes(draw))
    for name in ("nova.conf.d", "nova-compute.conf.d"):
        if draw.random() < 0.3:
            (home / name).mkdir()
            for number in range(draw.randint(1, 3)):
                ending = draw.choice((".conf", ".conf", ".conf.bak", ".cfg"))
                hidden = "." if draw.random() < 0.1 else ""
                file = home / name / f"{hidden}{draw.randint(0, 20):02}-{number}{ending}"
                file.write_bytes(_bytes(draw))
    if draw.random() < 0.2:
        (home / draw.choice(_COPIES)).write_bytes(_bytes(draw))


def _bytes(draw: Random, *, driver: bool = False) -> bytes:
    text = _text(draw, driver=driver)
    if draw.random() < 0.1:
        text = text.replace("\n", "\r\n")
    data = text.encode()
    return b"\xef\xbb\xbf" + data if draw.random() < 0.03 else data


def _text(draw: Random, *, driver: bool) -> str:
    lines = []
    if driver or draw.random() < 0.5:  # told to be Nova's by it
        lines = ["[DEFAULT]", "instances_path = /var/lib/nova/instances"]
    if driver:
        lines.append(f"compute_driver = {draw.choice(_DRIVERS)}")
    options = [o for o in knowledge().options.values() if o.form is not None]
    for _ in range(draw.randint(1, 8)):
        option = draw.choice(options)
        section = option.section
        if draw.random() < 0.1:
            section = draw.choice(("LibVirt", section.upper(), section.capitalize()))
        lines.append(f"[{section}]")
        for _ in range(draw.randint(1, 3)):
            lines.append(
                draw.choice(_NOISE) if draw.random() < 0.25 else _line(draw, option.section)
            )
    if draw.random() < 0.05:
        lines.insert(draw.randint(0, len(lines)), draw.choice(_BROKEN))
    return "\n".join(lines) + "\n"


def _line(draw: Random, section: str) -> str:
    found = [o for o in knowledge().options.values() if o.section == section and o.form is not None]
    option = draw.choice(found)
    assert option.form is not None
    value = draw.choice(_VALUES[option.form.kind])
    if draw.random() < 0.2:
        value = draw.choice(_REFERENCES)
    elif option.form.choices and draw.random() < 0.5:
        value = draw.choice(option.form.choices)
    sign = draw.choice((" = ", "=", " : ", ":"))
    continued = "\n  more" if draw.random() < 0.03 else ""
    return f"{option.name}{sign}{value}{continued}"
