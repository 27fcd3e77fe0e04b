"""Figures: pictures of masks in training, and the figures of the paper."""
