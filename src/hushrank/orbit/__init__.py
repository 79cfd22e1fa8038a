"""Exact samplers for exp(<M, H>) on the orbit of matrices H with given eigenvalues."""
