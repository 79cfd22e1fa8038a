"""Rows of numbers, one a person: arrays, sparse matrices, tables, files and streams."""
