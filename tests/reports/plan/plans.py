"""Any plan there can be: each field with whatever text a definition, or an editor, puts there."""

from typing import Any, get_args

from hypothesis import strategies as st

from vnicaudit.model.finding import Change, Readiness, Ref, owner_named
from vnicaudit.model.plan import (
    MODES,
    Blocked,
    BlockedCode,
    DomainUnit,
    FileUnit,
    FlavorUnit,
    Goal,
    GuestView,
    ImageUnit,
    Loss,
    ModeOption,
    Naming,
    NotPlanned,
    OwnerFile,
    Plan,
    ServerUnit,
    Snippet,
    Step,
    Unit,
)

NASTY = "\x00\x07\x1b\x7f\x9b\n\r\t\u2028\u202e\u200b\ufeff\ufffe\udce9\ud800|`<>@#%:,;=+-\"'\\/"
TEXT = st.text(st.one_of(st.sampled_from(NASTY), st.characters(exclude_categories=())), max_size=9)
MAYBE = st.none() | TEXT
OWNER = TEXT.map(owner_named)
# no file has a name with a zero byte, and a plan that says so is refused
FILE = TEXT.map(lambda text: text.replace("\0", ""))


def _some(one: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(one, max_size=2).map(tuple)


INDEX = st.integers(0, 99)
NIC = st.builds(Ref, st.just("nic"), MAYBE, MAYBE, MAYBE, st.none() | INDEX, MAYBE)
PORT = st.builds(Ref, st.just("nic"), MAYBE, MAYBE, MAYBE, INDEX, MAYBE)
CHANGE = st.builds(Change, TEXT, MAYBE, MAYBE, st.booleans(), TEXT)
MODE = st.builds(ModeOption, st.sampled_from(MODES), st.booleans(), TEXT)
GUEST = st.builds(
    GuestView, MAYBE, MAYBE, MAYBE, MAYBE, st.builds(Naming, MAYBE, MAYBE, TEXT), _some(TEXT),
    _some(TEXT), _some(st.builds(Snippet, TEXT, TEXT, TEXT)),
)  # fmt: skip
# names of properties: as they are, since two that differ in what JSON has no form for become one
_VALUES = st.dictionaries(st.text("hw_:\n|`\x1b", max_size=4), MAYBE, max_size=2)
_OF_CLOUD = {"properties": _VALUES, "old": _VALUES, "project": TEXT, "project_name": TEXT}
SERVER = st.builds(
    ServerUnit, host=MAYBE, zone=TEXT, groups=_some(TEXT), macs=_some(TEXT), image=TEXT,
    image_name=TEXT, flavor=TEXT, **_OF_CLOUD,
)  # fmt: skip
IMAGE = st.builds(ImageUnit, **_OF_CLOUD)
FLAVOR = st.builds(FlavorUnit, new_name=TEXT, **_OF_CLOUD)
SERVER_REF = st.builds(Ref, st.just("server"), MAYBE, MAYBE)
IMAGE_REF = st.builds(Ref, st.just("image"), MAYBE, MAYBE)
FLAVOR_REF = st.builds(Ref, st.just("flavor"), MAYBE, MAYBE)
ABOUT_AND_UNIT = st.one_of(
    st.tuples(NIC, st.just(DomainUnit()) | st.builds(FileUnit, FILE, MAYBE)),
    st.tuples(SERVER_REF | PORT, SERVER),
    st.tuples(IMAGE_REF, IMAGE),
    st.tuples(FLAVOR_REF, FLAVOR),
)


def _step(about_and_unit: tuple[Ref, Unit], **others: Any) -> Step:
    about, unit = about_and_unit
    return Step(about=about, unit=unit, **others)


STEP = st.builds(
    _step,
    ABOUT_AND_UNIT,
    id=TEXT,
    target=TEXT,
    owner=OWNER,
    to=st.sampled_from(get_args(Goal)),
    rules=_some(TEXT),
    changes=_some(CHANGE),
    readiness=st.sampled_from(get_args(Readiness)),
    safe=st.booleans(),
    reason=TEXT,
    running=st.booleans(),
    modes=_some(MODE),
    digest=TEXT,
    diff=TEXT,
    guest=GUEST,
    losses=_some(st.builds(Loss, TEXT, TEXT, st.booleans())),
    blocked=_some(st.builds(Blocked, st.sampled_from(get_args(BlockedCode)), TEXT)),
    procedure=_some(TEXT),
    files=_some(st.builds(OwnerFile, TEXT, TEXT)),
    notes=_some(TEXT),
)
NOT_PLANNED = st.builds(
    NotPlanned,
    NIC | SERVER_REF | IMAGE_REF | FLAVOR_REF,
    TEXT,
    _some(TEXT),
    TEXT,
    TEXT,
    file=MAYBE,
    line=st.none() | INDEX,
)
PLANS = st.builds(
    Plan,
    tool=TEXT,
    version=TEXT,
    created=TEXT,
    to=st.sampled_from(get_args(Goal)),
    targets=_some(TEXT),
    steps=st.lists(STEP, max_size=3, unique_by=lambda step: step.id).map(tuple),
    not_planned=_some(NOT_PLANNED),
    errors=_some(TEXT),
    notes=_some(TEXT),
)
