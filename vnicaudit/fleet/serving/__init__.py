"""A small read-only HTTP server, by default on loopback, with limits on everything it accepts.

It knows nothing about histories or reports: it serves the routes passed to it
(:class:`vnicaudit.fleet.serving.answers.Route`).
"""
