"""What of a pretrained encoder is in reach: on the hub, in its cache, or in a folder."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.file_download import repo_folder_name
from huggingface_hub.utils import get_session

from stemcell.encoders.names import BARE
from stemcell.errors import UserError

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def conversion(source: str | Path) -> str:
    """What to do about weights that are there as a pickle alone, with a command to copy into a shell."""
    name = json.dumps(str(source), ensure_ascii=False)
    code = (
        "from transformers import AutoModel, AutoTokenizer; "
        f'AutoModel.from_pretrained({name}, use_safetensors=False).save_pretrained("FOLDER"); '
        f'AutoTokenizer.from_pretrained({name}).save_pretrained("FOLDER")'
    )
    return (
        "Only safetensors are read, never pickles, which can run code. If you trust them, convert them once: "
        f"{shlex.join(['python', '-c', code])} and give FOLDER as the encoder"
    )


def reachable(seconds: float = 5.0) -> bool:
    """Whether the hub answers (at ``HF_ENDPOINT`` if that is set), asked once; no where ``HF_HUB_OFFLINE`` is set.

    The hub's own client would try five times, over half a minute, for each file.
    """
    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=seconds)
    except Exception:  # the client's library, and so its errors, differ between versions; none of them is an answer
        return False
    return True


def cached_weights(name: str, revision: str | None) -> tuple[str, str]:
    """The name and the revision in the cache that have the model's weights as safetensors.

    The name is that of before the model had an owner, where the cache is as old.

    Some models, among them ELECTRA and DeBERTa, had only a pickle when this was written; for them transformers takes
    the safetensors that the hub's converter offers as a pull request, and that is where they lie in the cache.

    Raises:
        UserError: there is none.
    """
    bare = name.rsplit("/", 1)[-1]
    for known in (name, bare) if BARE.get(bare) == name else (name,):
        folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=known, repo_type="model")
        references = (folder / "refs" / "refs" / "pr").glob("*")
        offers = [] if revision else sorted(f"refs/pr/{path.name}" for path in references)
        for candidate in (revision or "main", *offers):
            if any(isinstance(try_to_load_from_cache(known, file, revision=candidate), str) for file in WEIGHTS):
                return known, candidate
    at = f" at revision {revision}" if revision else ""
    raise UserError(
        f"the model hub ({constants.ENDPOINT}) cannot be reached, and the weights of '{name}'{at} are not in the cache "
        f"({constants.HF_HUB_CACHE}) as safetensors. Load it once where the hub can be reached and copy the cache, "
        "or give a local folder; minilm (from a package) and the tiny encoders need no hub"
    )


def check_folder(folder: Path) -> None:
    """Whether a folder has an encoder's configuration and weights.

    Raises:
        UserError: it has not, or it has the weights as a pickle alone.
    """
    if not (folder / "config.json").is_file():
        raise UserError(f"'{folder}' holds no encoder: it has no config.json")
    if any((folder / file).is_file() for file in WEIGHTS):
        return
    if list(folder.glob("pytorch_model*.bin*")):
        raise UserError(f"'{folder}' has its weights as a pickle. {conversion(folder)}")
    raise UserError(f"'{folder}' has no weights: neither of {', '.join(WEIGHTS)} is there")
