#!/usr/bin/env python3
"""Print the provenance of files as an in-toto statement with SLSA provenance
(slsa.dev/provenance/v1).

    python scripts/provenance.py COMMIT FILE...

It is as trustworthy as the signature on the checksums, which cover it.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path


def statement(commit: str, files: list[Path]) -> dict[str, object]:
    """The statement about files that ``scripts/release.sh`` made from a commit."""
    subjects = [
        {"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}
        for file in files
    ]
    source = {"uri": "git+file:.", "digest": {"gitCommit": commit}}
    tools = [{"name": f"pkg:pypi/{name}@{version(name)}"} for name in ("build", "setuptools")] + [
        {"name": f"pkg:generic/python@{platform.python_version()}"}
    ]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "file:scripts/release.sh",
                "externalParameters": {"commit": commit},
                "resolvedDependencies": [source, *tools],
            },
            "runDetails": {"builder": {"id": "file:scripts/release.sh#by-hand"}},
        },
    }


if __name__ == "__main__":
    commit, *files = sys.argv[1:]
    print(json.dumps(statement(commit, [Path(file) for file in files]), indent=1))  # noqa: T201
