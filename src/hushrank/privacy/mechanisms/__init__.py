"""Releases: each file holds one mechanism, with its sensitivity, its public lattice and the function that releases.

A release function is the only place that sees both the secret integer total and the noise. It rounds both together
once, which is the rounding of the ideal continuous mechanism and so costs neither epsilon nor delta, and it logs the
event it executed with the noise source.
"""
