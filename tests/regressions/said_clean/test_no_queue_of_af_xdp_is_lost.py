"""``-netdev af-xdp,queues=2`` with ``mq=on`` was one queue pair: QEMU makes one client for each
(``net_init_af_xdp`` in net/af-xdp.c)."""

import pytest

from vnicaudit.platforms.qemu.read import read_text


@pytest.mark.parametrize(
    ("backend", "device", "queues"),
    [
        ("queues=2", "mq=on", 2),
        ("queues=2", "mq=off", 1),
        ("mode=native", "mq=on", 1),
    ],
)
def test_the_queues_are_counted(backend: str, device: str, queues: int) -> None:
    text = (
        f"qemu-system-x86_64 -nodefaults -netdev af-xdp,id=n,ifname=eth0,{backend} "
        f"-device virtio-net-pci,netdev=n,{device}\n"
    )
    (qemu,) = read_text(text.encode(), target="t", file=None)
    assert [(nic.backend, nic.queues) for nic in qemu.nics] == [("af-xdp", queues)]
