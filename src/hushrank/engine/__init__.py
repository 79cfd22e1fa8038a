"""Where the sum over people is computed: threads, locks and memory for totals live here."""
