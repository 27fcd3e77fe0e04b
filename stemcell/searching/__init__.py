"""Searches over training fields: a study of Optuna whose trials are runs."""
