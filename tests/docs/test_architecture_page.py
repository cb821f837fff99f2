"""The page on the architecture names all that generates files of the documentation, and where they
are."""

from tests.docs.pages import ROOT


def test_every_generator_is_named() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    (generated,) = (part for part in text.split("\n\n") if part.startswith("Generated, and"))
    generators = {path.name for path in (ROOT / "docs").glob("generate_*.py")}
    assert len(generators) > 6
    assert {name for name in generators if f"docs/{name}" not in generated} == set()
    for folder in ("docs/share/", "docs/images/screens/"):
        assert folder in generated
