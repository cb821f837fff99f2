"""``python -m venv`` and ``python -m pip`` in a checkout ran a pull request's own ``venv.py`` and
``pip/``; a file called ``--baseline=b.json`` became an option of a pre-commit hook;
``--changed-since`` ran the filters and hooks of a hostile repository."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside
from tests.docs.pages import ROOT
from tests.pipelines.project import bash, git, guests, page, parse, repository
from tests.pipelines.test_pre_commit import HOOKS, options_of
from tests.regressions.hostile_input.strangers import give_away
from vnicaudit.audit.reading.selection import changed_since
from vnicaudit.errors import UsageError

ACTION: dict[str, Any] = parse((ROOT / "action.yml").read_text("utf-8"))
GITLAB: dict[str, Any] = parse(
    (ROOT / "templates" / "gitlab" / "vnicaudit.gitlab-ci.yml").read_text("utf-8")
)
_MODULES = ("venv", "pip", "ensurepip", "encodings", "vnicaudit", "sitecustomize", "click")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A pull request with modules of the names that an installation looks for."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    guests(folder, good="virtio")
    mark = f"open({str(tmp_path / 'pwned')!r}, 'a').write(__name__)\nraise SystemExit(0)\n"
    for name in _MODULES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(mark)
        (folder / name / "__main__.py").write_text(mark)
    return folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that needs nothing: its installation takes no network."""
    folder = tmp_path / "package"
    (folder / "vnicaudit").mkdir(parents=True)
    (folder / "vnicaudit" / "__init__.py").write_text("")
    (folder / "vnicaudit" / "__main__.py").write_text("print('audited')\n")
    (folder / "build_it.py").write_text(_BACKEND)
    (folder / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'build_it'\nbackend-path = ['.']\n"
    )
    return folder


_BACKEND = """
import zipfile
def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "vnicaudit-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.write("vnicaudit/__init__.py")
        wheel.write("vnicaudit/__main__.py")
        wheel.writestr("vnicaudit-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: vnicaudit\\nVersion: 1\\n")
        wheel.writestr("vnicaudit-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\nRoot-Is-Purelib: true\\n")
        wheel.writestr("vnicaudit-1.dist-info/RECORD", "")
    return name
"""  # noqa: E501


def test_the_action_runs_no_module_of_the_checkout(
    checkout: Path, package: Path, tmp_path: Path
) -> None:
    install, audit = (step["run"] for step in ACTION["runs"]["steps"])
    temp = tmp_path / "runner-temp"
    temp.mkdir()
    output = tmp_path / "output"
    variables = {
        "INPUT_PYTHON": sys.executable, "GITHUB_ACTION_PATH": str(package), "INPUT_TARGETS": ".",
        "RUNNER_TEMP": str(temp), "INPUT_SARIF": "a.sarif", "GITHUB_OUTPUT": str(output),
        "INPUT_ARGS": "", "INPUT_LEVEL": "", "INPUT_BASELINE": "", "INPUT_CHANGED_SINCE": "",
        "PYTHONPATH": ":",
    }  # fmt: skip
    result = bash(f"{install}\n{audit}", checkout, variables, ("-eo", "pipefail"))
    assert not (tmp_path / "pwned").exists()
    assert result.returncode == 0, result.stderr
    assert "audited" in result.stdout


def test_an_input_adds_no_output_to_the_action(tmp_path: Path) -> None:
    audit = ACTION["runs"]["steps"][1]["run"]
    output = tmp_path / "output"
    variables = {
        "INPUT_TARGETS": ".", "RUNNER_TEMP": str(tmp_path), "INPUT_SARIF": "a\nexit-code=0",
        "GITHUB_OUTPUT": str(output), "INPUT_ARGS": "", "INPUT_LEVEL": "", "INPUT_BASELINE": "",
        "INPUT_CHANGED_SINCE": "",
    }  # fmt: skip
    result = bash(audit, tmp_path, variables, ("-eo", "pipefail"))
    assert (result.returncode, result.stderr) == (2, "sarif: more than one line\n")
    assert not output.exists()


def test_the_gitlab_template_runs_no_module_of_the_checkout(
    checkout: Path, package: Path, tmp_path: Path
) -> None:
    python = tmp_path / "bin"
    python.mkdir()
    (python / "python3").symlink_to(sys.executable)
    install, audit = GITLAB["vnicaudit"]["script"]
    variables = {**GITLAB["variables"], "VNICAUDIT_PACKAGE": str(package), "PYTHONPATH": ":"}
    script = f'PATH="{python}:$PATH"\n{install}\n{audit}'
    result = bash(script, checkout, variables, ("-eo", "pipefail"))
    assert not (tmp_path / "pwned").exists()
    assert result.returncode == 0, result.stderr
    assert "audited" in result.stdout


@pytest.mark.parametrize("template", ["action", "gitlab"])
def test_what_pip_starts_runs_no_module_of_the_checkout(
    template: str, checkout: Path, package: Path, tmp_path: Path
) -> None:
    """To build a package, pip starts another Python: isolated it is only by what it is given. A
    project that has its tests find its modules sets PYTHONPATH for all jobs."""
    shutil.rmtree(checkout / "encodings")  # Python would not come far enough to leave a mark
    written = package / "pyproject.toml"
    written.write_text(written.read_text().replace("[]", "['setuptools']"))
    python = tmp_path / "bin"
    python.mkdir()
    (python / "python3").symlink_to(sys.executable)
    gitlab = GITLAB["vnicaudit"]["script"][0]
    script = gitlab if template == "gitlab" else ACTION["runs"]["steps"][0]["run"]
    variables = {
        "PYTHONPATH": str(checkout), "PIP_NO_INDEX": "1", "VNICAUDIT_PACKAGE": str(package),
        "INPUT_PYTHON": sys.executable, "GITHUB_ACTION_PATH": str(package),
        "RUNNER_TEMP": str(tmp_path),
    }  # fmt: skip
    result = bash(f'PATH="{python}:$PATH"\n{script}', checkout, variables, ("-eo", "pipefail"))
    assert not (tmp_path / "pwned").exists()
    assert "setuptools" in result.stderr  # it came to where pip starts another


def test_no_page_of_a_pipeline_runs_a_module_from_a_checkout() -> None:
    """Zuul's playbook, and whatever is written later: ``python -m`` is ``python -I -m``."""
    texts = [block.text for name in _pages() for block in page(name)]
    texts += [(ROOT / "action.yml").read_text(), (ROOT / ".pre-commit-hooks.yaml").read_text()]
    texts += [path.read_text() for path in (ROOT / "templates" / "gitlab").iterdir()]
    found = [line for text in texts for line in text.splitlines() if _runs_module(line)]
    assert found
    assert [line for line in found if not re.search(r"-I,? -m\b", line)] == []


def _pages() -> list[str]:
    return [
        path.name for path in (ROOT / "docs" / "how-to").glob("*.md")
        if path.name == "ci.md" or "gate" in path.name
    ]  # fmt: skip


def _runs_module(line: str) -> bool:
    return re.search(r"python3?[\"']?,? .*-m\b", line) is not None and "#" not in line


class TestHook:
    """Files whose names are options."""

    @pytest.fixture
    def theirs(self, tmp_path: Path) -> Path:
        guests(tmp_path, slow="rtl8139")
        inside("audit", "guests", "--write-baseline", "b.json", cwd=tmp_path)
        for name in ("--baseline=b.json", "--output=owned.xml"):
            (tmp_path / name).write_text("{}")
        return tmp_path

    def test_every_hook_ends_its_options(self) -> None:
        for hook in HOOKS:
            assert hook["args"] == ["--"]

    def test_a_file_is_no_option(self, theirs: Path) -> None:
        for hook in HOOKS[:1]:
            words = ["audit", *options_of(hook), *hook["args"]]
            files = ("--baseline=b.json", "--output=owned.xml", "guests/slow.xml")
            result = inside(*words, *files, cwd=theirs)
            assert result.returncode == 1
            assert "VNIC001" in result.stdout
            assert not (theirs / "owned.xml").exists()

    def test_a_file_without_that_is_refused(self, theirs: Path) -> None:
        for name in ("--baseline=b.json", "--output=owned.xml"):
            result = inside("audit", "--skip-unrecognised", name, "guests/slow.xml", cwd=theirs)
            assert result.returncode == 2
            assert (
                f"{name}: this is an option, but there is also a file of that name" in result.stderr
            )
            assert not (theirs / "owned.xml").exists()

    def test_configurations_of_the_page_end_their_options(self) -> None:
        texts = [block.text for block in page("ci.md")]
        given = [line.strip() for text in texts for line in text.splitlines() if "args:" in line]
        assert given
        assert [line for line in given if not re.fullmatch(r"args: \[.*, --\]", line)] == []


class TestRepository:
    """``--changed-since`` in a repository whose ``.git`` somebody else made."""

    @pytest.fixture
    def theirs(self, tmp_path: Path) -> Path:
        folder = tmp_path / "theirs"
        folder.mkdir()
        guests(folder, good="virtio")
        (folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
        repository(folder)
        evil = tmp_path / "evil"
        evil.write_text(f"#!/bin/sh\necho $0 $* >> {tmp_path}/ran\ncat\n")
        evil.chmod(0o755)
        for key in (
            "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv",
            "diff.evil.command", "core.fsmonitor", "core.pager", "diff.external", "core.sshCommand",
        ):  # fmt: skip
            git(folder, "config", key, str(evil))
        git(folder, "config", "filter.evil.required", "true")
        hooks = folder / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "reference-transaction", "post-checkout"):
            (hooks / name).symlink_to(evil)
        guests(folder, new="rtl8139", good="e1000")
        os.utime(folder / ".gitattributes", (1, 1))
        return folder

    def test_no_filter_and_no_hook_of_it_runs(self, theirs: Path) -> None:
        found = changed_since("HEAD", str(theirs))
        assert not (theirs.parent / "ran").exists()
        names = {os.path.relpath(path, theirs) for path in found.files}
        assert {"guests/new.xml", "guests/good.xml"} <= names

    def test_git_is_told_of_no_program_by_the_environment(
        self, theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No git of today runs one to tell which files differ; so what it is told is looked at."""
        names = ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND")
        for name in names:
            monkeypatch.setenv(name, str(tmp_path / "evil"))
        own = tmp_path / "bin" / "git"
        own.parent.mkdir()
        own.write_text(f'#!/bin/sh\nenv >> {tmp_path}/told\nexec {shutil.which("git")} "$@"\n')
        own.chmod(0o755)
        monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
        changed_since("HEAD", str(theirs))
        told = (tmp_path / "told").read_text()
        assert "GIT_OPTIONAL_LOCKS=0" in told
        assert not re.search(rf"^(?:{'|'.join(names)})=", told, re.MULTILINE)
        assert not (tmp_path / "ran").exists()

    def test_the_repository_of_another_user_is_refused_unless_git_is_told_to_trust_it(
        self, theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.getuid() != 0:
            pytest.skip("files can be given away by root only")
        give_away(theirs, *theirs.rglob("*"))
        settings = tmp_path / "gitconfig"
        settings.write_text("")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
        # what the repository says of itself is not heard
        with (theirs / ".git" / "config").open("a") as own:
            own.write("[safe]\n\tdirectory = *\n")
        with pytest.raises(UsageError, match=r"dubious ownership.*safe\.directory FOLDER"):
            changed_since("HEAD", str(theirs))
        settings.write_text(f"[safe]\n\tdirectory = {theirs}\n")
        assert changed_since("HEAD", str(theirs)).has(str(theirs / "guests" / "new.xml"))
        assert not (tmp_path / "ran").exists()

    def test_a_submodule_is_audited_and_not_asked(self, theirs: Path, tmp_path: Path) -> None:
        module, top = tmp_path / "module", tmp_path / "top"
        for folder in (module, top):
            folder.mkdir()
            guests(folder, inner="e1000")
            repository(folder)
        git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "sub")
        git(top, "commit", "-q", "-m", "m")
        git(top / "sub", "config", "core.fsmonitor", str(theirs.parent / "evil"))
        found = changed_since("HEAD", str(top))
        assert not (tmp_path / "ran").exists()
        assert [folder for folder in found.folders if folder.endswith("/sub/")]
        assert found.has(str(top / "sub" / "guests" / "inner.xml"))
