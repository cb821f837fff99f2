"""Visits to hosts, containers and network namespaces: ``visit.py`` asks for everything in one round
trip, ``answered.py`` reads devices from the answer, ``processes.py`` the guests."""
