"""The tracking server, the image and MLflow's project file: what they promise, without Docker."""

from __future__ import annotations

import re
import shlex
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow.projects._project_spec import load_project

from tests.test_packaging import pins
from tests.test_readme import parse

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "mlflow"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
SERVER, POSTGRES = COMPOSE["services"]["server"], COMPOSE["services"]["postgres"]


def test_the_server_listens_on_this_machine_alone_unless_told() -> None:
    assert SERVER["ports"] == ["${MLFLOW_ADDRESS:-127.0.0.1:5000}:5000"]
    assert "ports" not in POSTGRES
    assert POSTGRES["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_the_server_asks_who_is_there() -> None:
    from mlflow.cli import server

    name, verb, *arguments = SERVER["command"]
    assert (name, verb) == ("mlflow", "server")
    given = server.make_context("server", list(arguments)).params
    assert given["app_name"] == "basic-auth"
    assert given["artifacts_destination"] == "/artifacts"
    assert "artifacts:/artifacts" in SERVER["volumes"]
    ini = ConfigParser()
    ini.read(FOLDER / "basic_auth.ini")
    assert ini["mlflow"]["database_uri"] == given["backend_store_uri"]
    assert ini["mlflow"]["authorization_function"].endswith(":authenticate_request_basic_auth")
    assert "admin_password" not in ini["mlflow"]


def test_no_password_is_kept_and_none_is_forgotten() -> None:
    secrets = {
        name: value
        for service in (SERVER, POSTGRES)
        for name, value in service["environment"].items()
        if re.search("PASSWORD|SECRET", name)
    }
    assert len(secrets) == 4
    assert all(re.fullmatch(r"\$\{\w+:\?[^}]+\}", value) for value in secrets.values())
    used = set(re.findall(r"\$\{(\w+)", (FOLDER / "compose.yaml").read_text("utf-8")))
    lines = (FOLDER / ".env.example").read_text("utf-8").splitlines()
    example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert set(example) == used
    assert {name for name, value in example.items() if value} == {"MLFLOW_ADDRESS"}
    ignored = subprocess.run(["git", "check-ignore", "mlflow/.env"], cwd=ROOT, capture_output=True)
    assert ignored.returncode == 0


def test_services_are_watched_and_come_back() -> None:
    for service in (SERVER, POSTGRES):
        assert service["restart"] == "unless-stopped"
        assert service["healthcheck"]["test"][0] == "CMD"
    assert SERVER["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    named = {volume.partition(":")[0] for service in (SERVER, POSTGRES) for volume in service["volumes"]}
    assert named == set(COMPOSE["volumes"])


def test_versions_are_exact() -> None:
    mlflow = pins()["mlflow"]
    assert SERVER["image"] == f"stemcell-mlflow:{mlflow}"
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", POSTGRES["image"])
    (install,) = re.findall(r"^RUN pip install .*", (FOLDER / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    packages = [word for word in shlex.split(install)[3:] if not word.startswith(("-", "/"))]
    assert f"mlflow[auth]=={mlflow}" in packages
    assert all("==" in package for package in packages)


@pytest.mark.parametrize("file", ["Dockerfile", "mlflow/Dockerfile"])
def test_images_are_pinned_and_not_root(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    steps = re.findall(r"^(FROM|ARG|USER|COPY) (.+)$", text, re.MULTILINE)
    bases = [value.removeprefix("BASE=") for step, value in steps if step == "FROM" or value.startswith("BASE=")]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", bases[0])
    users = [value for step, value in steps if step == "USER"]
    assert users
    assert "root" not in users
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = {source for step, value in steps if step == "COPY" for source in value.split()[:-1]}
    for source in (source.removeprefix("./") for source in sources):
        assert (ROOT / source).exists(), source
        assert source in allowed, source


def test_the_image_is_for_processors_unless_told() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.findall(r"^ARG TORCH_BACKEND=(.*)$", text, re.MULTILINE) == ["cpu"]
    # torch is there, at the version that is wanted, before pip could take another build of it.
    torch = text.index('--torch-backend "$TORCH_BACKEND" --constraint constraints.txt torch')
    assert torch < text.index("pip install --constraint constraints.txt .")
    assert re.search(r"uv==\d+\.\d+\.\d+", text)


def test_the_project_file_names_commands_that_are_there(tmp_path: Path) -> None:
    project = load_project(str(ROOT))
    given = {"data": "corpus", "out": "out", "target": "minilm", "study": "stl-mtl"}
    for name in ("main", "train", "probe", "sweep", "study"):
        entry = project.get_entry_point(name)
        mine = {key: value for key, value in given.items() if key in entry.parameters}
        program, *arguments = shlex.split(entry.compute_command(mine, str(tmp_path)))
        if program == "stemcell":
            parsed = parse(arguments)
            assert str(parsed["out"]) == "out"
        else:
            assert (ROOT / program).is_file()


def test_the_folder_does_not_hide_the_package() -> None:
    assert list(FOLDER.rglob("*.py")) == []
