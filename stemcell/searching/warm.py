"""What every trial imports, imported once: trials are forked from a process that has it, which spares them seconds."""

from __future__ import annotations

import stemcell.tracking.store as store

store.quiet()

import datasets  # noqa: E402, F401
import matplotlib.pyplot  # noqa: E402, F401
import mlflow  # noqa: E402, F401
import mlflow.store.tracking.sqlalchemy_store  # noqa: E402, F401
import sqlalchemy  # noqa: E402, F401
import torch  # noqa: E402, F401
import transformers  # noqa: E402, F401
from accelerate import Accelerator  # noqa: E402, F401

import stemcell.encoders.load  # noqa: E402, F401
import stemcell.encoders.tiny  # noqa: E402, F401
import stemcell.tracking.tracker  # noqa: E402, F401
import stemcell.training.gating  # noqa: E402, F401
import stemcell.training.loop  # noqa: E402, F401
import stemcell.training.run  # noqa: E402, F401
import stemcell.training.setup  # noqa: E402, F401
