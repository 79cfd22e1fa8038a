"""Functions of arrays: no people, no ratings, no privacy."""
