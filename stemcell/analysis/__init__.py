"""Annotating new text with a trained model."""

from stemcell.analysis.pipeline import Analysis, Pipeline, load

__all__ = ["Analysis", "Pipeline", "load"]
