"""The command line: options -> call -> report -> exit code. The only package that prints."""
