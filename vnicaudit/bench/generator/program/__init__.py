"""Requests and answers, or a stream, over TCP: the program that runs at both ends.

It is sent to the ends, packed into one file (:mod:`vnicaudit.bench.generator.packing`), so all in
this folder is Python 3.6 with the standard library alone: the guests it runs in are as old as
RHEL 8. The protocol, what is counted and what is not: docs/decisions/0007-own-generator.md.
"""
