"""Rules x NICs -> report: resolving what is declared into what is effective, judging, filtering."""
