"""New findings in, message bodies of bounded size out; one module per form."""
