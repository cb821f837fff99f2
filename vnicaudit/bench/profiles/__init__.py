"""Profiles: what is run, how often, and what is judged by it; shipped ones and the user's own."""
