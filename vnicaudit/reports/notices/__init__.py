"""New findings in, bodies of messages out: one module per form, each of bounded size."""
