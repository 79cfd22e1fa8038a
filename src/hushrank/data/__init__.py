"""What people bring: sources of blocks, whose schema is checked before a value is read. No threads, no sums."""
