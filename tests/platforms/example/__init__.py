"""A platform of its own: NICs in an INI file, as a small tool might keep its guests. It shows what
a platform takes: one object, and nothing of the program touched."""
