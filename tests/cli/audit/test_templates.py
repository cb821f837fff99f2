"""``vnicaudit audit --fix`` over templates: what is to be filled in is never written over."""

from pathlib import Path

from tests.cli.inside import inside as vnicaudit
from tests.rows import rows


@rows
def test_fix_leaves_placeholders_alone(tmp_path: Path, name: str, text: str, code: int) -> None:
    forms = ("@X@", "__X__", "%X%", "%(x)s", "((x))", "[[ x ]]", "#{x}#", "{x}", "$(X)", "${X}")
    written = {tmp_path / str(at) / name: text.format(form) for at, form in enumerate(forms)}
    for file, content in written.items():
        file.parent.mkdir()
        file.write_text(content)
    result = vnicaudit("audit", "--fix", "--include-unsafe", *written)
    assert {file: file.read_text() for file in written} == written
    assert "error" not in result.stdout
    assert result.returncode == code, result.stdout
    if name == "a.xml":
        assert "here a template decides rx_queue_size, tx_queue_size" in " ".join(
            result.stdout.split()
        )
