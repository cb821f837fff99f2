"""What each owner is told on a topic, word for word; libvirt's sentence is for owners that have
none of their own."""

from tests.rows import rows
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.knowledge.fixes.owners import SHIPPED
from vnicaudit.model.finding import owner_named
from vnicaudit.model.fix import OwnerAdvice, Topic

worded = every_platform().wordings.worded


def told(topic: Topic, owner: str, *, in_arguments: bool = False) -> str:
    advice = OwnerAdvice(topic)
    return worded(None, advice, owner_named(owner), in_arguments=in_arguments).text


@rows
def test_sentence(topic: Topic, sentences: dict[str, str]) -> None:
    for owner in (*SHIPPED, "puppet"):
        assert told(topic, owner) == sentences.get(owner, sentences["libvirt"]), owner


def test_a_nic_in_qemu_arguments_is_spoken_of_in_words_of_qemu() -> None:
    for owner in ("libvirt", "terraform", "puppet"):
        assert told("serve-vhostuser", owner, in_arguments=True) == told("serve-vhostuser", "qemu")
    assert told("serve-vhostuser", "nova", in_arguments=True) == told("serve-vhostuser", "nova")
