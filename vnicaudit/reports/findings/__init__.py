"""Findings as text: one by one, or put together by what they have in common."""
