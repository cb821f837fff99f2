"""Both parsers of ruamel.yaml: tests of what is read from YAML run once with each.

A module of such tests says ``from tests.text.parsers import parser as parser``.
"""

import pytest

from vnicaudit.text import yaml_compose

C_PARSER = yaml_compose._c_parser() is not None
"""``ruamel.yaml.clib`` is installed."""

_PARSERS = ["the C parser", "the pure parser"] if C_PARSER else ["the pure parser"]


@pytest.fixture(params=_PARSERS, autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser that is used."""
    if request.param == "the pure parser":
        monkeypatch.setattr(yaml_compose, "_c_parser", lambda: None)
