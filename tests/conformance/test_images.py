"""Random images and flavors against the answers of Nova 34.0.0's own code in ``data/images.json``,
recorded by :mod:`tests.conformance.images`."""

from tests.conformance import recorded
from tests.conformance.images import DATA, Answer, disagreement, pairs


def test_what_nova_refuses_and_makes_is_said() -> None:
    drawn, rows = recorded.read(DATA, pairs)
    answers = [Answer(*row) for row in rows]
    found = [text for pair in zip(drawn, answers, strict=True) if (text := disagreement(*pair))]
    assert found == []
    assert sum(answer.refused is not None for answer in answers) > 100
