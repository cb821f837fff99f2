"""Short runs of one path, hour by hour: their series, and when its level changed."""
