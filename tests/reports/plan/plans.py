"""Any plan there can be: each field with whatever text a definition, or an editor, puts there."""

from __future__ import annotations

from hypothesis import strategies as st

from vnicaudit.model.finding import Change, NicRef
from vnicaudit.model.plan import (
    GOALS,
    MODES,
    CloudPart,
    GuestView,
    Left,
    Loss,
    ModeOption,
    Naming,
    Plan,
    Snippet,
    Step,
)

NASTY = "\x00\x07\x1b\x7f\x9b\n\r\t\u2028\u202e\u200b\ufeff\ufffe\udce9\ud800|`<>@#%:,;=+-\"'\\/"
TEXT = st.text(st.one_of(st.sampled_from(NASTY), st.characters(exclude_categories=())), max_size=9)
MAYBE = st.none() | TEXT
# no file has a name with a zero byte, and a plan that says so is refused
FILE = st.none() | TEXT.map(lambda text: text.replace("\0", ""))


def _some(one: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(one, max_size=2).map(tuple)


NIC = st.builds(NicRef, MAYBE, MAYBE, MAYBE, st.none() | st.integers(0, 99), MAYBE)
CHANGE = st.builds(Change, TEXT, MAYBE, MAYBE, st.booleans(), TEXT)
MODE = st.builds(ModeOption, st.sampled_from(MODES), st.booleans(), TEXT)
GUEST = st.builds(
    GuestView, MAYBE, MAYBE, MAYBE, MAYBE, st.builds(Naming, MAYBE, MAYBE, TEXT), _some(TEXT),
    _some(TEXT), _some(st.builds(Snippet, TEXT, TEXT, TEXT)),
)  # fmt: skip
# names of properties: as they are, since two that differ in what JSON has no form for become one
_VALUES = st.dictionaries(st.text("hw_:\n|`\x1b", max_size=4), MAYBE, max_size=2)
CLOUD = st.builds(
    CloudPart,
    object=st.sampled_from(("server", "image", "flavor")),
    properties=_VALUES,
    old=_VALUES,
    project=TEXT,
    host=MAYBE,
    zone=TEXT,
    groups=_some(TEXT),
    macs=_some(TEXT),
    new_name=TEXT,
)
STEP = st.builds(
    Step,
    id=TEXT,
    platform=TEXT,
    target=TEXT,
    nic=NIC,
    owner=TEXT,
    to=st.sampled_from(GOALS),
    rules=_some(TEXT),
    changes=_some(CHANGE),
    readiness=TEXT,
    safe=st.booleans(),
    reason=TEXT,
    running=st.booleans(),
    modes=_some(MODE),
    digest=TEXT,
    diff=TEXT,
    guest=GUEST,
    losses=_some(st.builds(Loss, TEXT, TEXT, st.booleans())),
    blocked=_some(TEXT),
    route=_some(TEXT),
    notes=_some(TEXT),
    file=FILE,
    place=MAYBE,
    cloud=st.none() | CLOUD,
)
LEFT = st.builds(
    Left, NIC, TEXT, _some(TEXT), TEXT, st.sampled_from(("nic", "server", "image", "flavor")), TEXT
)  # fmt: skip
PLANS = st.builds(
    Plan,
    TEXT,
    TEXT,
    TEXT,
    st.sampled_from(GOALS),
    _some(TEXT),
    st.lists(STEP, max_size=3, unique_by=lambda step: step.id).map(tuple),
    _some(LEFT),
    _some(TEXT),
    _some(TEXT),
)
