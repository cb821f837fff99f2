"""Cases of rules as data: what is put before a rule, and what must come out."""
