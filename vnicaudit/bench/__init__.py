"""Measure: endpoints where generators run, engines that load the path, the design that orders the
runs, and the verdict."""
