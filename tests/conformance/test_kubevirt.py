"""Random manifests against KubeVirt's own answers in ``data/kubevirt.json``, recorded from
its main branch (d923fdb8, 1.9) by :mod:`tests.conformance.kubevirt`."""

from tests.conformance import recorded
from tests.conformance.kubevirt import DATA, Answer, disagreement, is_setting, machines


def test_what_kubevirt_refuses_and_makes_is_said() -> None:
    drawn, rows = recorded.read(DATA, machines)
    answers = [Answer(*row) for row in rows]
    found = {
        number: text
        for number, pair in enumerate(zip(drawn, answers, strict=True))
        if (text := disagreement(*pair))
    }
    assert found == {}
    refused = [answer for answer in answers if answer.refused and not is_setting(answer)]
    assert len(refused) > 150
    assert sum(len(answer.nics) for answer in answers) > 200
