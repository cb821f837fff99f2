"""Placeholders: texts that stand for a value that is filled in before a file is used.

A text is not a value if it is wholly such a placeholder, or if something in it can only be the
beginning of one. Names and paths may contain ``$``, ``@``, ``%`` and ``_``, so these characters
alone prove nothing.
"""

from __future__ import annotations

import re
from functools import cache

_NAME = r"[A-Za-z_][\w.-]*"
_FORMS = (
    r"\{\{.*\}\}",  # Jinja 2 and Go's text/template (Helm, Packer), Mustache
    r"\{%.*%\}",  # Jinja 2's statements
    r"<%.*%>",  # ERB (Puppet, Chef), EJS, Mako's blocks
    r"%\{.*\}",  # Terraform's directives, Hiera's interpolation, Ruby's format
    r"\$\{.*\}",  # POSIX shell and envsubst, Terraform's templatefile, OpenShift, Maven, Mako
    r"\$\[\[.*\]\]",  # GitLab CI's inputs: $[[ inputs.x ]]
    r"\$\(.*\)",  # make, Kubernetes' $(VAR), a shell's command substitution
    rf"\$\$?{_NAME}",  # POSIX shell, Python's string.Template
    rf"@@?{_NAME}@?@",  # autoconf's config.status, CMake and meson configure_file
    rf"%{_NAME}%",  # cmd.exe's variables, qmake
    r"%\([^()]+\)[#0 +-]*(?:[1-9]\d*)?[sdiru]",  # Python's "%(x)s"
    r"%[sdiu]",  # printf, Python's "%s"
    rf"\{{{_NAME}(?:\[[^\[\]{{}}]*\])?(?:![rsa])?(?::[^{{}}\"']*)?\}}",  # Python's str.format
    r"\(\(\s*[A-Za-z_\"][^()]*\)\)",  # Concourse and BOSH: ((x)), ((a:b.c))
    r"\[\[\s*[A-Za-z_$.][^\[\]\"',]*\]\]",  # Angular's and Vue's other delimiters, confd's
    r"#\{[^{}]*\}#?",  # Azure's Replace Tokens: #{x}#; Ruby, Octopus Deploy: #{x}
    r"<[A-Za-z_][^<>]*>",  # sample files: <X>; oslo.config's generator writes <None>
    r"__[A-Za-z](?:\w*[A-Za-z0-9])?__",  # sed scripts: __X__
)
_FIRST = frozenset("{<$@%([#_")
"""Characters with which every form begins: most values need no further check."""

_OPENERS = ("{{", "{%", "<%", "${", "%{", "$[[", "#{")
_LONGEST = 40


@cache
def _whole_pattern() -> re.Pattern[str]:
    """The pattern of a whole placeholder, compiled when first needed: that takes as long as linting
    a small file."""
    return re.compile("|".join(_FORMS), re.DOTALL)


def is_only_placeholder(text: str) -> bool:
    """True for a value that is nothing but a placeholder, apart from surrounding blanks."""
    text = text.strip()
    return text[:1] in _FIRST and _whole_pattern().fullmatch(text) is not None


def opened(text: str) -> bool:
    """True if a text contains the opening of a placeholder that cannot be part of a name."""
    return any(opener in text for opener in _OPENERS)


def placeholder_text(text: str) -> str:
    """A placeholder for use in a message: on one line, shortened if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
