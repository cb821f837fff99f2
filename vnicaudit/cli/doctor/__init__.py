"""``vnicaudit doctor``: what can be audited from here, and what would be left unjudged."""
