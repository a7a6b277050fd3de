"""Child processes: workers that check, and the spare one that loads what was saved."""
