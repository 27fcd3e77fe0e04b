"""Parameter-free probes of attention heads (METHOD section 6): which head knows which label."""
