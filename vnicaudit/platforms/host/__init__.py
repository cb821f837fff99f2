"""A host itself: what its kernel, devices and links give to the NICs of its guests.

``local.py`` reads the machine this program runs on, from files below a root directory.
``readings.py`` frames what one visit to a host (or a recording of one, or a sosreport) brings,
``facts`` makes records of it, and ``visiting`` pays the visit.
"""
