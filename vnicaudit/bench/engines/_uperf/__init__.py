"""Parts of the engine uperf."""
