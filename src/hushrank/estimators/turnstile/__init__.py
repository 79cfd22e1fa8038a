"""Private factorization of a matrix that is known by a stream of its updates, from linear sketches."""
