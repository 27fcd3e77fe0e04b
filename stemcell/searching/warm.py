"""What every trial imports, imported once: trials are forked from a process that has it, which spares them seconds."""

from __future__ import annotations

from importlib import import_module

from stemcell.tracking import store

MODULES = (
    "datasets",
    "evaluate",
    "matplotlib.pyplot",
    "mlflow",
    "mlflow.store.tracking.sqlalchemy_workspace_store",
    "sqlalchemy.dialects.sqlite",
    "rich.console",
    "torch",
    "transformers.models.bert.modeling_bert",
    "accelerate",
    "stemcell.encoders.load",
    "stemcell.encoders.tiny",
    "stemcell.tracking.tracker",
    "stemcell.training.gating",
    "stemcell.training.loop",
    "stemcell.training.run",
    "stemcell.training.setup",
)

store.quiet()
for module in MODULES:
    import_module(module)
