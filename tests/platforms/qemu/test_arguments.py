"""Words -> options."""

from vnicaudit.platforms.qemu.arguments import Arguments, parse, parse_unquoted


def test_flags_take_no_value_and_others_do() -> None:
    found = parse(["-S", "-name", "-x", "--device", "e1000", "-nodefaults", "disk.img", "-m", "1"])
    assert found == Arguments(
        (("S", None), ("name", "-x"), ("device", "e1000"), ("nodefaults", None), ("m", "1")),
        places=(0, 2, 4, 5, 8),
    )


def test_an_unknown_option_takes_the_next_word_unless_it_is_an_option() -> None:
    assert parse(["-unknown", "parameter", "-new", "-m", "1"]).pairs == (
        ("unknown", "parameter"),
        ("new", None),
        ("m", "1"),
    )


def test_an_option_without_its_value_is_a_problem() -> None:
    assert parse(["-m", "1", "-netdev"]).problem == "ends after -netdev, which takes a value"
    assert parse_unquoted(["-m", "1", "-netdev"]).problem == (
        "ends after -netdev, which takes a value"
    )


def test_without_quotes_a_value_runs_to_the_next_known_option() -> None:
    words = "-smbios type=1,product=OpenStack Nova,uuid=1 -append root=/dev/vda -quiet -S -m 512"
    assert parse_unquoted(words.split()).pairs == (
        ("smbios", "type=1,product=OpenStack Nova,uuid=1"),
        ("append", "root=/dev/vda -quiet"),
        ("S", None),
        ("m", "512"),
    )


def test_the_last_value_counts() -> None:
    found = parse(["-m", "1", "-m", "2", "-S"])
    assert found.last("m") == "2"
    assert found.last("name") is None
    assert found.last("S") is None
    assert found.has("S", "name")
    assert not found.has("name")
