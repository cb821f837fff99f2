import pytest

from tests.rows import rows
from vnicaudit.reports.pseudonyms import Pseudonyms, TextRedactor, public_words

MADE = Pseudonyms(b"k" * 32)


def redactor(*names: str) -> TextRedactor:
    texts = TextRedactor(MADE)
    for name in names:
        texts.learn(name, MADE.name("vm", name))
    return texts


@rows
def test_a_sentence_of_this_program_stays_as_it_is(text: str) -> None:
    assert redactor().redacted(text) == text


@rows
def test_no_number_hides_an_address(text: str, shown: str) -> None:
    assert shown not in redactor().redacted(text)


def test_a_name_is_replaced_wherever_it_stands_alone() -> None:
    texts, made = redactor("mail"), MADE.name("vm", "mail")
    assert texts.redacted("mail: 'mail' (mail), mail.") == f"{made}: '{made}' ({made}), {made}."


def test_a_longer_name_goes_before_a_shorter_one() -> None:
    texts = redactor("Web Server", "Web Server 1 (old)", "Web")
    made = MADE.name("vm", "Web Server 1 (old)")
    assert texts.redacted("NIC 0 of Web Server 1 (old), running") == f"NIC 0 of {made}, running"
    assert texts.redacted("Web Server 2").startswith(MADE.name("vm", "Web Server"))


def test_a_name_within_a_word_is_the_word_of_somebody() -> None:
    text = redactor("mail").redacted("bridge mail-br7 carries it")
    assert text == f"bridge {MADE.name('name', 'mail-br7')} carries it"


@pytest.mark.parametrize("name", ["", "7", "42", "a", " ", "..."])
def test_a_name_that_is_no_word_changes_no_number(name: str) -> None:
    assert redactor(name).redacted("42 NICs have 7 rings") == "42 NICs have 7 rings"


@rows
def test_no_unknown_word_is_let_through(text: str) -> None:
    assert "acme" not in redactor().redacted(f"bridge {text} has an MTU of 1500").casefold()


@pytest.mark.parametrize("text", ["мейл", "株式会社", "münchen", "naïve"])
def test_no_word_of_another_alphabet_is_let_through(text: str) -> None:
    assert text not in redactor().redacted(f"bridge {text}")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("52:54:00:12:34:56", MADE.mac("52:54:00:12:34:56")),
        ("6f1f9a906f0c4f2a9bb42b4bd9b9c001", MADE.identity("6f1f9a906f0c4f2a9bb42b4bd9b9c001")),
        ("192.0.2.7", MADE.address("192.0.2.7")),
        ("192.0.2.7:5000", f"{MADE.address('192.0.2.7')}:5000"),
        ("192.0.2.0/24", f"{MADE.address('192.0.2.0')}/24"),
        ("2001:db8::7", MADE.address("2001:db8::7")),
    ],
)
def test_addresses_and_ids_are_as_in_fields(text: str, kept: str) -> None:
    assert redactor().redacted(f"it has {text}.") == f"it has {kept}."


def test_what_was_redacted_before_a_name_was_known_is_redacted_by_it_afterwards() -> None:
    texts = redactor()
    assert texts.redacted("the network is gone") == "the network is gone"
    texts.learn("network", "vm-1")
    assert texts.redacted("the network is gone") == "the vm-1 is gone"


def test_no_public_word_is_a_name_that_examples_have() -> None:
    names = {"mail-01", "web-01", "kvm1", "kvm7", "br0", "br-int", "vnet0", "acme", "prod"}
    assert public_words() & names == set()
