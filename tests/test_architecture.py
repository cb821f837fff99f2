"""What the import contracts cannot say: everything that rules and the model may import.

The contracts in ``pyproject.toml`` name what is forbidden; here it is the other way round, so that
a library or a module of the standard library that nobody thought of is caught as well.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rows import rows

PACKAGE = Path(__file__).parents[1] / "vnicaudit"

LANGUAGE = ("__future__", "collections.abc", "typing")
KNOWLEDGE = (
    *LANGUAGE, "functools.cache", "functools.lru_cache", "re", "msgspec",
    "vnicaudit.base.opening.read_beside", "vnicaudit.base.wording", "vnicaudit.errors",
    "shlex.quote", "ipaddress",
    "vnicaudit.knowledge", "vnicaudit.model", "vnicaudit.text.edits", "vnicaudit.text.targets",
    "vnicaudit.text.beginning",
)  # fmt: skip
RULES = (*LANGUAGE, "vnicaudit.knowledge", "vnicaudit.model")
MODEL = (
    *LANGUAGE, "functools.cached_property", "re", "msgspec", "_thread.RLock", "vnicaudit.model",
)  # fmt: skip
ERRORS = (*LANGUAGE,)

IMPURE = {"__import__", "eval", "exec", "open", "input", "print"}
"""Built-in functions that reach beyond a module without an import."""

PLACES = [
    *((path, RULES) for path in sorted((PACKAGE / "rules").glob("*.py"))),
    *((path, KNOWLEDGE) for path in sorted((PACKAGE / "knowledge").rglob("*.py"))),
    *((path, MODEL) for path in sorted((PACKAGE / "model").glob("*.py"))),
    (PACKAGE / "errors.py", ERRORS),
]


@pytest.mark.parametrize(
    ("path", "allowed"), PLACES, ids=lambda value: value.name if isinstance(value, Path) else ""
)
def test_imports_only_what_its_layer_may(path: Path, allowed: tuple[str, ...]) -> None:
    assert list(foreign(path.read_text("utf-8"), allowed)) == []


@rows
def test_what_a_rule_may_not_do_is_found(source: str, found: str) -> None:
    assert list(foreign(source, RULES)) == [found]


@rows
def test_what_a_rule_may_import_is_not_found(source: str) -> None:
    assert list(foreign(source, RULES)) == []


def foreign(source: str, allowed: tuple[str, ...]) -> Iterator[str]:
    """Names that are imported, or impure built-in functions that are called, and not allowed."""
    for node in ast.walk(ast.parse(source)):
        for name in _reached(node):
            if not any(name == known or name.startswith(f"{known}.") for known in allowed):
                yield name


def _reached(node: ast.AST) -> Iterator[str]:
    """The names one node brings in, as from the top; relative ones begin with a dot."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (f"{node.module}." if node.module else "")
        yield from (base + alias.name for alias in node.names)
    elif isinstance(node, ast.Name) and node.id in IMPURE and isinstance(node.ctx, ast.Load):
        yield node.id


def test_only_rules_know_the_id_of_a_rule() -> None:
    """What goes by one rule's id holds for no rule that is to come, and nobody is told."""
    examples = PACKAGE / "audit" / "settings" / "keys.py"
    found = [
        (path.name, node.lineno)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent != PACKAGE / "rules" and path != examples
        for node in _nodes_where(r"VNIC\d{3}", path)
        if isinstance(node, ast.Constant) and re.fullmatch(r"VNIC\d{3}", str(node.value))
    ]
    assert found == []


def _nodes_where(pattern: str, path: Path) -> Iterator[ast.AST]:
    """All of a module, where its text has something of a pattern: parsing all takes long."""
    text = path.read_text("utf-8")
    if re.search(pattern, text):
        yield from ast.walk(ast.parse(text))


TOPS = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.name[0] != "_"} - {
    "templates", "py.typed",
}  # fmt: skip
PLATFORMS = {
    f"platforms.{path.stem}" for path in (PACKAGE / "platforms").iterdir() if path.name[0] != "_"
}


@pytest.mark.parametrize(
    ("begins", "allowed"),
    [
        ("libvirt is imported by", {"platforms.libvirt"}),
        ("openstacksdk, and what it brings along, is imported by", {"platforms.openstack"}),
        ("kubernetes is imported by the client of clusters", set()),
        ("SQLAlchemy and psycopg are imported by", {"history"}),
        ("testinfra is imported by", {"reaching"}),
        ("What reads and judges knows nothing of the command line", {"cli", "reports"}),
    ],
)
def test_a_contract_on_a_library_lists_every_other_package(begins: str, allowed: set[str]) -> None:
    """import-linter knows no "all but": a new package would go unchecked."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (listed,) = (c["source_modules"] for c in contracts if c["name"].startswith(begins))
    names = {name.removeprefix("vnicaudit.") for name in listed}
    if "platforms" in names:
        names = names - {"platforms"} | PLATFORMS
    assert names == (TOPS - {"platforms"} | PLATFORMS) - allowed


def test_a_contract_that_allows_definitions_lists_every_other_platform() -> None:
    text = (PACKAGE.parent / "pyproject.toml").read_text("utf-8")
    lists = re.findall(
        r"^forbidden_modules = .*vnicaudit\.platforms\.libvirt.*", text, re.MULTILINE
    )
    assert len(lists) == 2
    for listed in lists:
        names = set(re.findall(r"vnicaudit\.(platforms\.\w+)", listed))
        assert names == PLATFORMS - {"platforms.domain_xml"}


def test_no_contract_makes_an_exception_for_a_platform() -> None:
    """What is exempt from a contract is an edge that nobody sees any more."""
    text = (PACKAGE.parent / "pyproject.toml").read_text("utf-8")
    ignored = re.findall(r"^ignore_imports = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert [one for one in ignored if "platforms" in one] == []


def test_tests_of_the_rig_are_where_tox_looks_for_them() -> None:
    """The rig's environment collects these folders only; a test elsewhere would never run."""
    tests = PACKAGE.parent / "tests"
    marked = [path for path in tests.rglob("*.py") if "mark.rig" in path.read_text("utf-8")]
    folders = ("rig", "platforms/libvirt", "conformance", "regressions/way_back")
    looked_at = (*(tests / each for each in folders), Path(__file__))
    assert [path for path in marked if not any(path.is_relative_to(one) for one in looked_at)] == []
    command = (PACKAGE.parent / "tox.ini").read_text("utf-8")
    named = " ".join(f"tests/{each}" for each in folders)
    assert f"\n[rig]\ntests = {named}\n" in command
    assert re.search(r"^    pytest .*\{posargs:\{\[rig\]tests\}\}$", command, re.MULTILINE)


@pytest.mark.parametrize("name", ["openstack", "kube"])
def test_tests_of_clouds_and_clusters_are_where_tox_looks_for_them(name: str) -> None:
    """Each of these environments collects one folder."""
    tests = PACKAGE.parent / "tests"
    marked = [path for path in tests.rglob("*.py") if f"mark.{name}" in path.read_text("utf-8")]
    assert {path for path in marked if not path.is_relative_to(tests / name)} <= {Path(__file__)}
    command = (PACKAGE.parent / "tox.ini").read_text("utf-8")
    assert re.search(rf"^    pytest .*\{{posargs:tests/{name}\}}$", command, re.MULTILINE)


def test_tests_that_measure_and_those_of_l1_are_where_tox_looks_for_them() -> None:
    """The environments ``measured`` and ``nested`` collect these folders; ``rig`` leaves them
    out."""
    tests = PACKAGE.parent / "tests"
    theirs = re.compile(r"\bmark\.alone\b|\bl1: L1\b|\bl2_guest: ")
    marked = [path for path in tests.rglob("*.py") if theirs.search(path.read_text("utf-8"))]
    theirs_alone = (tests / "rig", tests / "bench" / "generator")
    elsewhere = {path for path in marked if not any(map(path.is_relative_to, theirs_alone))}
    assert elsewhere <= {Path(__file__)}
    command = (PACKAGE.parent / "tox.ini").read_text("utf-8")
    folders = r"^    pytest .*\{posargs:tests/rig(?: tests/bench/generator)?\}$"
    assert len(re.findall(folders, command, re.MULTILINE)) == 2


@rows
def test_mypy_and_import_linter_see_every_plug_in(path: str, folder: str) -> None:
    """A module that is loaded by name is imported for them, where it is loaded."""
    tree = ast.parse((PACKAGE / path).read_text("utf-8"))
    package = f"vnicaudit.{folder.replace('/', '.')}"
    seen = {
        alias.name
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module == package
        for alias in node.names
    }
    assert seen == {each.stem for each in (PACKAGE / folder).glob("[!_]*.py")}


BY_NAME = {
    "bench/engines/__init__.py",
    "audit/judging/rule_files.py",  # a rule by its id
    "cli/options/lazy_group.py",
    "reports/formats/__init__.py",  # the command that runs
}
"""What imports by name: elsewhere mypy and import-linter would see nothing of it."""


def test_only_rules_commands_and_engines_are_imported_by_name() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in _nodes_where(r"import_module|__import__|[\"']vnicaudit\.", path)
        if _by_name(node)
    }
    assert found == BY_NAME


def _by_name(node: ast.AST) -> bool:
    """Whether it is an import by name, or a string that names a module of the package."""
    text = node.value if isinstance(node, ast.Constant) else None
    if isinstance(text, str) and re.fullmatch(r"vnicaudit(\.\w{1,60})+", text):
        place = PACKAGE.joinpath(*text.split(".")[1:])
        return place.is_dir() or place.with_suffix(".py").is_file()
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("import_module", "__import__")


ENTRIES = {"vnicaudit.__main__"}  # where Python looks for the start of a program
"""Modules that stand above the rooms of their folder while others of it stand below."""


def test_no_folder_has_a_circle_of_rooms() -> None:
    """Neither among its rooms and modules one by one, nor between the rooms and all that stands in
    the folder itself, which is one floor: each room is above it, or below it."""
    modules = _modules()
    edges = {edge for name in modules for edge in _edges(name, modules)}
    packages = {name for name, path in modules.items() if path.name == "__init__.py"}
    found = {
        folder: circle
        for folder in packages
        for floor in (False, True)
        if (circle := _circle(_graph(folder, edges, packages, floor=floor)))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("edges", "is_circle"),
    [
        ({("p.a.one", "p.b"), ("p.d", "p.a.two")}, True),  # the folder's own modules are one floor
        ({("p.a.one", "p.c.two"), ("p.c.three", "p.a.four")}, True),
        ({("p.b", "p.a.one"), ("p.d", "p.c.two"), ("p.a.one", "p.c.two")}, False),
        ({("p.a.one", "p.b"), ("p.d", "p.c.two")}, False),  # a, the folder's own, c
    ],
)
def test_a_circle_of_rooms_is_seen(edges: set[tuple[str, str]], is_circle: bool) -> None:
    packages = {"p", "p.a", "p.c"}
    assert bool(_circle(_graph("p", edges, packages, floor=True))) == is_circle


def _modules() -> dict[str, Path]:
    """Dotted name -> file of all modules; those of packages are their ``__init__``."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("vnicaudit", *path.relative_to(PACKAGE).with_suffix("").parts)
        names[".".join(parts).removesuffix(".__init__")] = path
    return names


def _edges(name: str, modules: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """What a module imports of the package, wherever in it."""
    for node in ast.walk(ast.parse(modules[name].read_text("utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for reached in _reached(node):
                whole = reached if reached in modules else reached.rpartition(".")[0]
                if whole in modules:
                    yield name, whole


def _graph(
    folder: str, edges: set[tuple[str, str]], packages: set[str], *, floor: bool
) -> dict[str, set[str]]:
    """What the parts of a folder import of one another. ``floor``: its own modules are one part."""
    graph: dict[str, set[str]] = {}
    for source, target in edges:
        one, other = (_part(folder, each, packages, floor=floor) for each in (source, target))
        if one and other and one != other and source not in ENTRIES:
            graph.setdefault(one, set()).add(other)
    return graph


def _part(folder: str, module: str, packages: set[str], *, floor: bool) -> str:
    """The part of a folder that a module is in; empty: it is none of the folder's."""
    if module == folder:
        return folder
    if not module.startswith(f"{folder}."):
        return ""
    part = f"{folder}.{module[len(folder) + 1 :].partition('.')[0]}"
    return folder if floor and part not in packages else part


def _circle(graph: dict[str, set[str]]) -> list[str]:
    """Parts that lie in circles, or above one; empty: each can be laid above what it imports."""
    while lowest := {name for names in graph.values() for name in names} - set(graph):
        graph = {name: rest for name, names in graph.items() if (rest := names - lowest)}
    return sorted(graph)


ANY = {
    "model/decoding.py": 9,  # msgspec's decoders
}
"""Uses of ``Any`` that the product may have: where a library has no types for what is meant."""


def test_any_stands_where_it_is_listed_and_nowhere_else() -> None:
    texts = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    uses = {
        path.relative_to(PACKAGE).as_posix(): _uses_of_any(text)
        for path, text in texts.items()
        if "Any" in text
    }
    assert {name: count for name, count in uses.items() if count} == ANY


def test_any_is_counted_in_quoted_types_too() -> None:
    text = 'def f(x: "list[Any]", y: typing.Any) -> Any:\n    "Any of them."\n    return x'
    assert _uses_of_any(text) == 3


def _uses_of_any(source: str) -> int:
    """Those in types that stand in quotes included."""
    uses = 0
    for node in ast.walk(ast.parse(source)):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"[\w\[\]., |]*\[[\w\[\]., |]*\bAny\b.*", text):
            uses += len(re.findall(r"\bAny\b", text))
        uses += getattr(node, "id", getattr(node, "attr", "")) == "Any"
    return uses
