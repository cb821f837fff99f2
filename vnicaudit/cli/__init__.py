"""The command line: options -> a call -> a report -> an exit code. The only place that prints."""
