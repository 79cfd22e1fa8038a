"""Private low-rank trace regression."""
