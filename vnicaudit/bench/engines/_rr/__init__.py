"""Parts of the engine rr."""
