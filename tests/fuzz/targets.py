"""What is fuzzed: bytes in; anything but an answer or a TargetError is a bug.

Apart from atheris, so that the suite runs the seeds through the same functions everywhere.
"""

from collections.abc import Callable

from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.options import release_of
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.recognise import looks_like_xml
from vnicaudit.platforms.infra_code import looks_like as looks_like_infra
from vnicaudit.platforms.infra_code import read as read_infra_code
from vnicaudit.platforms.kubevirt.read import read_bytes as read_manifests
from vnicaudit.platforms.kubevirt.recognise import looks_like as looks_like_kubevirt
from vnicaudit.platforms.nova_conf.read import read_bytes as read_config
from vnicaudit.platforms.nova_conf.recognise import looks_like as looks_like_nova
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.read import looks_like, read_text

_HOST = HostConfig(arch="x86_64")
_JUDGE = DescriptionAuditor(rule_ids(), every_platform().wordings)


def read_xml(data: bytes) -> None:
    """The domain XML reader and the resolver."""
    looks_like_xml(data)
    try:
        for domain in read_bytes(data, target="fuzz", file="fuzz"):
            _resolve(domain)
            for problem in domain.unread:
                _check(TargetError(problem.message, file=problem.file, line=problem.line))
    except TargetError as error:
        _check(error)


def read_command(data: bytes) -> None:
    """The command line readers and the resolver."""
    looks_like(data)
    try:
        for qemu in read_text(data, target="fuzz", file="fuzz"):
            _resolve(domain_of(qemu, "fuzz"))
    except TargetError as error:
        _check(error)


def read_manifest(data: bytes) -> None:
    """The reader of YAML, its templates and KubeVirt's manifests, and the resolver."""
    looks_like_kubevirt(data)
    try:
        for found in read_manifests(data, target="fuzz", file="fuzz"):
            if isinstance(found, Domain):
                _resolve(found)
            elif isinstance(found, ReadError):
                _check(TargetError(found.message, file=found.file, line=found.line))
    except TargetError as error:
        _check(error)


def read_infra(data: bytes) -> None:
    """The readers of shell, Ansible, Heat and Terraform, and the resolver."""
    looks_like_infra(data)
    try:
        for found in read_infra_code(data, target="fuzz", file="fuzz"):
            if isinstance(found, Domain):
                _resolve(found)
            elif not isinstance(found, Image | Flavor) or found.location.file != "fuzz":
                raise AssertionError(f"no image and no flavor, or nowhere: {found!r}")
    except TargetError as error:
        _check(error)


def read_nova(data: bytes) -> None:
    """The reader of nova.conf, its templates, and the rules."""
    looks_like_nova(data)
    try:
        config = read_config(data, target="fuzz", file="fuzz")
    except TargetError as error:
        _check(error)
        return
    for seen in (config, as_of(config, release_of("Queens"))):
        crashed = _JUDGE.audit(seen, "fuzz").crashed
        if crashed:
            raise AssertionError(f"a rule that crashes: {crashed!r}")


def _resolve(domain: Domain) -> None:
    for nic in domain.nics:
        every_platform().resolver(domain.declared)(
            nic.declared, domain.declared, _HOST, nic.running
        )


def _check(error: TargetError) -> None:
    if not error.message or error.file != "fuzz":
        raise AssertionError(f"an error that says too little: {error!r}")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "xml": read_xml, "command": read_command, "manifest": read_manifest, "infra": read_infra,
    "nova": read_nova,
}  # fmt: skip
"""By the name of the folder of its seeds."""
