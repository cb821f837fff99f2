"""QEMU commands as people paste them: each command in each form has the findings of the bare one,
or is told; cut at any place, it gives no NIC that it has not, and no clean bill where the cut
shows."""

import html
import json
import shlex
from collections.abc import Callable, Iterator
from io import BytesIO

import pytest

from vnicaudit.audit.reading.files import read_stream
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Item, is_domain

COMMANDS = {
    "no vhost": (
        "qemu-system-x86_64 -accel kvm -smp 2 -nodefaults -netdev tap,id=n0,ifname=tap0,script=no "
        "-device virtio-net-pci,netdev=n0,mac=52:54:00:12:34:56"
    ),
    "emulated": (
        "qemu-system-x86_64 -enable-kvm -m 2048 -drive file=/srv/a.qcow2,if=virtio -nodefaults "
        "-netdev user,id=a -device rtl8139,netdev=a,mac=52:54:00:12:34:57"
    ),
    "nic": "qemu-kvm -m 1G -nic tap,model=e1000,mac=52:54:00:12:34:58,ifname=tap1 -hda disk.img",
    "hub": (
        "/usr/libexec/qemu-kvm -m 512 -net nic,model=virtio,macaddr=52:54:00:12:34:59 "
        "-net tap,ifname=tap2,script=no"
    ),
    "queues": (
        "/opt/qemu/bin/qemu-system-x86_64 -M q35 -accel kvm -smp 4 -nodefaults -netdev tap,id=n,"
        "vhost=on,queues=4 -device virtio-net-pci,netdev=n,mq=on,vectors=10,mac=52:54:00:12:34:5a"
    ),
    "quoted": (
        "qemu-system-x86_64 -M q35 -smp 2 -nodefaults -kernel bzImage -append 'console=ttyS0 "
        "root=/dev/vda' -netdev user,id=n -device virtio-net-pci,netdev=n,mq=on,vectors=6"
    ),
    "libvirt": (
        "/usr/bin/qemu-system-x86_64 -name guest=web4,debug-threads=on -S -machine pc-q35-7.2 "
        "-accel kvm -smp 4 -nodefaults "
        """-netdev '{"type":"tap","fd":"23","id":"hostnet0"}' """
        """-device '{"driver":"virtio-net-pci","netdev":"hostnet0","""
        """"mac":"52:54:00:3a:8a:d6","bus":"pcie.0"}' """
        "-msg timestamp=on"
    ),
}


def _lines(command: str) -> list[str]:
    """The program and its options, each with its value."""
    first, *words = shlex.split(command)
    found = [first]
    for word in words:
        if word.startswith("-"):
            found.append(word)
        else:
            found[-1] += f" {shlex.quote(word)}"
    return found


def _wrapped(text: str, width: int = 80) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def _list(command: str) -> list[str]:
    return shlex.split(command)


def _plain(command: str) -> str:
    return " ".join(shlex.split(command))


PS = "root      2413  9.0  3.1 4000000 300000 ?     Sl   Mar02   1:33 "
FORMS: dict[str, Callable[[str], str]] = {
    "prompt": lambda text: f"root@h:~# {text}",
    "prompt in brackets": lambda text: f"[root@h ~]# {text}",
    "prompt of a venv": lambda text: f"(venv) me@h:~/vm$ sudo {text}\nme@h:~/vm$",
    "prompt of a second line": lambda text: "$ " + " \\\n> ".join(_lines(text)),
    "fence": lambda text: f"It is slow:\n\n~~~sh\n$ {text}\n~~~\n\nWhy?",
    "fence in a list": lambda text: f"1. Run\n\n   ```\n   {text}\n   ```\n2. wait",
    "quotation": lambda text: "> " + " \\\n>   ".join(_lines(text)),
    "item": lambda text: f"* `{text}` is slow",
    "sentence": lambda text: f"I run `{text}`, and it isn't fast",
    "trace": lambda text: f"+ ip link set tap0 up\n++ exec {text}",
    "trace with its line": lambda text: f"+ ./start.sh:12: exec {text}",
    "journal": lambda text: f"Nov 29 10:11:12 kvm01 libvirtd[1234]: {text}",
    "nova-compute": lambda text: (
        f"2026-11-28 10:11:12.345 7 ERROR nova.compute.manager [req-1 - -] [instance: 1] "
        f"ProcessExecutionError: Command: {text}"
    ),
    "virt-launcher": lambda text: json.dumps({"component": "x", "level": "info", "msg": text}),
    "container": lambda text: json.dumps({"log": f"+ exec {text}\n", "stream": "stderr"}),
    "continued": lambda text: " \\\n  ".join(_lines(text)),
    "lines": lambda text: "\r\n  ".join(_lines(text)),
    "one a line": lambda text: "\n".join(_list(text)),
    "strings": lambda text: ",\n".join(json.dumps(word) for word in _list(text)),
    "JSON": lambda text: json.dumps({"args": _list(text)}, indent=2),
    "container inspect": lambda text: json.dumps(
        [{"Path": _list(text)[0], "Args": _list(text)[1:]}], indent=2
    ),
    "Python": lambda text: f"subprocess.run({_list(text)!r}, check=True)",
    "YAML list": lambda text: "argv:\n" + "".join(f"- {word!r}\n" for word in _list(text)),
    "YAML value": lambda text: f"command: {json.dumps(text)}",
    "nul": lambda text: "\0".join(_list(text)) + "\0",
    "nul behind a prompt": lambda text: "# cat /proc/7/cmdline\n" + "\0".join(_list(text)) + "\0",
    "nul shown": lambda text: "^@".join(_list(text)) + "^@",
    "ps": lambda text: f"$ ps aux | grep qemu\n{PS}{_plain(text)}",
    "ps wrapped": lambda text: _wrapped(PS + _plain(text)),
    "wrapped": _wrapped,
    "wrapped at 100": lambda text: _wrapped(f"root@h:~# {text}", 100),
    "systemctl": lambda text: f"   CGroup: /x.scope\n           └─2413 {_plain(text)}",
    "HTML": lambda text: f"<p>See</p>\n<pre><code>$ {html.escape(text)}\n</code></pre>",
    "colours": lambda text: f"\x1b[01;32mroot@h\x1b[00m:~# {text}",
}
CHANGED: dict[str, tuple[Callable[[str], bytes], str]] = {
    "quotes": (lambda text: text.replace(" -", " \u201c-", 1).encode(), "typographic quote \u201c"),
    "Windows": (lambda text: text.replace(" -", " \u201c-", 1).encode("cp1252"), "quote \u201c"),
    "dash": (lambda text: text.replace(" -", " \u2013", 1).encode(), "a dash \u2013 where"),
    "blanks": (lambda text: text.replace(" ", "\u00a0").encode(), "a no-break space where"),
}


def _items(text: bytes) -> list[Item]:
    return list(read_stream(BytesIO(text), "t", every_platform().files))


def _facts(domain: Domain) -> list[tuple[object, ...]]:
    found = [nic.running for nic in domain.nics]
    return [
        (one.driver, one.backend, one.mac, one.vhost, one.queues, one.refusal)
        for one in found
        if one is not None
    ]


def _told(items: list[Item]) -> str:
    return " ".join(getattr(item, "message", "") for item in items)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_command_in_any_form_is_read_as_the_bare_one(form: Callable[[str], str]) -> None:
    for command in COMMANDS.values():
        (bare,) = filter(is_domain, _items(command.encode()))
        items = _items(f"{form(command)}\n".encode())
        found = [item for item in items if is_domain(item)]
        assert [_facts(domain) for domain in found] == [_facts(bare)], _told(items)


@pytest.mark.parametrize(("change", "words"), CHANGED.values(), ids=CHANGED)
def test_what_a_paste_changed_is_named(change: Callable[[str], bytes], words: str) -> None:
    for command in COMMANDS.values():
        items = _items(b"It is slow:\n\n    " + change(command))
        assert not any(map(is_domain, items))
        assert "line 3 has " in _told(items)
        assert words in _told(items)


def _cuts(command: str) -> Iterator[str]:
    begin = command.index(" -") + 3
    yield from (command[:end] for end in range(begin, len(command)))


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_cut_gives_a_nic_that_is_not_there(command: str) -> None:
    (whole,) = filter(is_domain, _items(command.encode()))
    nics = {(nic[0], nic[2]) for nic in _facts(whole)} | {(nic[0], None) for nic in _facts(whole)}
    names = {driver for driver, _mac in nics} | {"virtio-net"}  # its alias is a part of its name
    for cut in _cuts(command):
        items = _items(f"{cut}\n".encode())
        domains = [item for item in items if is_domain(item)]
        found = [nic for domain in domains for nic in _facts(domain)]
        assert {nic[0] for nic in found} <= names, cut
        assert {nic[2] for nic in found} <= {mac for _driver, mac in nics}, cut
        assert not any(nic[5] for nic in found), cut
        assert found or len(items) > len(domains), f"a clean bill: {cut}"
