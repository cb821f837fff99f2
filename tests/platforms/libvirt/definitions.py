"""Domain XML for the tests against a real libvirtd: small, without disks."""


def domain(name: str, *nics: str, vcpus: int = 1) -> str:
    """A domain that can be started: 64 MiB, no disk, the guest agent's channel."""
    return f"""\
<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>64</memory>
  <vcpu>{vcpus}</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    {"".join(nics)}
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <memballoon model='none'/>
  </devices>
</domain>
"""


def nic(mac: str, kind: str, *children: str) -> str:
    """One interface with these elements in it."""
    return f"<interface type='{kind}'><mac address='{mac}'/>{''.join(children)}</interface>"
