"""History of runs: changes applied, their times and outcomes, as text or as
``vnicaudit.runs/1``."""
