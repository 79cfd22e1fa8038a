"""Model files: a container of arrays and a header, columns of text, tables of attributes, models in and out."""
