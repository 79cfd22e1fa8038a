"""Updates of a matrix that is never stored, (row, column, delta) each and a user where one is needed.

They come from vectors, sparse matrices, tables, files, streams of blocks, and live streams of bytes.
"""
