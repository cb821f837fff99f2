"""History of runs: changes applied, when and with which outcome, as text or as
``vnicaudit.runs/1``."""
