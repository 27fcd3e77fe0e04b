"""Grids of runs: what is in one, doing it on one machine or several, and showing how it stands."""
