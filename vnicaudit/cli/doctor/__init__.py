"""``vnicaudit doctor``: what can be audited from this machine, and what would not be judged."""
