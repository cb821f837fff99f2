"""Text as written in a file: positions in it, templates in it, and edits that change nothing else.

Several platforms use it to read and change files that people write by hand; it knows nothing about
NICs.
"""
