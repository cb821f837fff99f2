"""A small HTTP server for what a history tells: read-only, on loopback, bounded in all it takes.

It knows no history and no report: it is given :class:`vnicaudit.fleet.serving.answers.Route`\\ s.
"""
