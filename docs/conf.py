"""Sphinx configuration: Markdown (MyST) pages, warnings are errors (see tox.ini)."""

from vnicaudit import __version__

project = "vnicaudit"
author = "The vnicaudit developers"
project_copyright = "The vnicaudit developers"
release = version = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"vnicaudit {__version__}"
exclude_patterns = ["_build"]
