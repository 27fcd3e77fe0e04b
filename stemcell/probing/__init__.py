"""Parameter-free probes of attention heads (docs/method.md, section 6): which head knows which label."""
