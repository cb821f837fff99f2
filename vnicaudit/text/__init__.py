"""Text as it stands in a file: positions in it, templates in it, and edits that touch nothing else.

What several platforms need to read and change what people write by hand; it knows nothing of NICs.
"""
