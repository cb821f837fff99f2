"""Standard output, standard error, and files of reports."""
