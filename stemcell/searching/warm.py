"""What every run imports, imported once: runs are forked from a process that has it, which spares them seconds."""

from __future__ import annotations

import signal
from importlib import import_module

from stemcell.tracking import store

# Transformers imports a family's module, and all that it needs, when a model of it is made.
FAMILIES = ("bert", "roberta", "electra", "deberta")
MODULES = (
    "accelerate",
    "datasets",
    "evaluate",
    "matplotlib.pyplot",
    "mlflow",
    "mlflow.store.tracking.sqlalchemy_workspace_store",
    "rich.table",
    "scipy.stats",
    "sqlalchemy.dialects.sqlite",
    "torch",
    *(f"transformers.models.{family}.modeling_{family}" for family in FAMILIES),
    "stemcell.analysis.pipeline",
    "stemcell.encoders.load",
    "stemcell.encoders.tiny",
    "stemcell.heads.export",
    "stemcell.probing.run",
    "stemcell.tracking.sync",
    "stemcell.tracking.tracker",
    "stemcell.training.gating",
    "stemcell.training.loop",
    "stemcell.training.run",
    "stemcell.training.setup",
)

# A terminal that goes away tells every process of its group. The command tells its runs itself to save and stop, once:
# a second signal would meet them while they note how they ended.
signal.signal(signal.SIGHUP, signal.SIG_IGN)
store.quiet()
for module in MODULES:
    import_module(module)
