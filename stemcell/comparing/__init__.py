"""Runs side by side: the paper's tables, overlap, gains, and verdicts on its claims (docs/method.md, section 7)."""
