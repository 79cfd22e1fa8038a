"""Private recommenders: matrix completion under user-level joint privacy."""
