"""Ratings of users: matrices, tables and files, grouped by user."""
