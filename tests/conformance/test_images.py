"""Random images and flavors against the answers of Nova 34.0.0's own code in ``data/images.json``,
recorded by :mod:`tests.conformance.images`."""

from __future__ import annotations

import json
from zlib import crc32

from tests.conformance.images import DATA, Answer, disagreement, pairs


def test_what_nova_refuses_and_makes_is_said() -> None:
    recorded = json.loads(DATA.read_text())
    answers = [Answer(*answer) for answer in recorded["answers"]]
    drawn = pairs(recorded["seed"], len(answers))
    assert crc32(json.dumps(drawn).encode()) == recorded["checksum"], "record the answers again"
    found = [text for pair in zip(drawn, answers, strict=True) if (text := disagreement(*pair))]
    assert found == []
    assert sum(answer.refused is not None for answer in answers) > 100
