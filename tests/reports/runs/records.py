"""Any run there can be, with whatever text guests and hosts put into it."""

from typing import get_args

from hypothesis import strategies as st

from tests.reports.plan.plans import MAYBE, TEXT
from vnicaudit.model.plan import MODES
from vnicaudit.model.runs import Check, Outcome, RunRecord, UnitRun, Verdict

TEXTS = st.lists(TEXT, max_size=2).map(tuple)
CHECK = st.builds(Check, TEXT, st.sampled_from(get_args(Verdict)), TEXT)
UNIT = st.builds(
    UnitRun, TEXT, MAYBE, TEXT, TEXTS, TEXTS, st.sampled_from(get_args(Outcome)), TEXT,
    st.lists(CHECK, max_size=2).map(tuple), st.none() | st.floats(0, 1e6),
)  # fmt: skip
RECORDS = st.builds(
    RunRecord, TEXT, st.sampled_from(["apply", "rollback"]), TEXT, MAYBE, TEXT,
    st.sampled_from(MODES), TEXTS,
    st.sampled_from(["done", "failed", "rolled-back", "unfinished"]),
    st.lists(UNIT, max_size=3).map(tuple),
)  # fmt: skip
