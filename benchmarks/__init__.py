"""Benchmarks: ratios against a floor measured in the same run. Figures: docs/performance.md."""
