"""Attention heads: gates that close them, maps of what is left, and their removal."""
