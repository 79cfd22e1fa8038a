"""Private personalization: one representation for all users, a small head for each, under user-level joint privacy."""
