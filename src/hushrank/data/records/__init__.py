"""Records with an answer, (X, y) or (X, y, users): a record is a person of its own, or one of a user's."""
