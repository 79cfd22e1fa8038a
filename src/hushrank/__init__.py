"""Differentially private low-rank matrix learning with guarantees that hold for every data set."""

__version__ = "0.1.0.dev0"
