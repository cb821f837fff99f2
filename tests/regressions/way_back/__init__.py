"""No way back, or a guest that was left off."""
