"""How good a private result is: errors, data that are made up, other ways to the same end, audits."""
