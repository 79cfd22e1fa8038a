"""The papers' bounds and rates as functions of public numbers: a leaf that plans and documentation use."""
