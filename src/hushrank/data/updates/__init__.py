"""Updates of a matrix that is never stored, (row, column, delta) each: arrays and sparse matrices."""
