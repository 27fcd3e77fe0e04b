"""Runs side by side: the paper's tables, overlap, gains, and what they say of its claims (METHOD section 7)."""
