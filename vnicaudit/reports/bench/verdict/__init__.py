"""The verdict of a measurement, to be read in five seconds in every format."""
