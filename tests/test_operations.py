"""The tracking server, the image and MLflow's project file: what they promise, without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow.projects._project_spec import load_project
from packaging.requirements import Requirement

from tests.test_packaging import PROJECT, pins, workflow
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


def steps(file: str) -> list[tuple[str, str]]:
    """A Dockerfile's instructions, each on one line."""
    text = re.sub(r"\\\n\s*", "", (ROOT / file).read_text("utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, value) for name, _, value in (line.partition(" ") for line in lines)]


def values(file: str, wanted: str) -> list[str]:
    return [value for name, value in steps(file) if name == wanted]


@pytest.mark.parametrize("file", ["Dockerfile", "mlflow/Dockerfile"])
def test_images_are_pinned_and_not_root(file: str) -> None:
    (base,) = values(file, "FROM")
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", base)
    users = values(file, "USER")
    assert users
    assert "root" not in users
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for source in {source for value in values(file, "COPY") for source in value.split()[:-1]}:
        assert (ROOT / source).exists(), source
        assert source in allowed, source
    for name in ("ENTRYPOINT", "CMD"):
        # In exec form: a shell as the first process would keep `docker stop` from the program.
        assert all(isinstance(json.loads(value), list) for value in values(file, name))


def test_the_image_installs_what_is_pinned() -> None:
    assert "TORCH_INDEX=" in values("Dockerfile", "ARG")
    installs = [
        command.strip()
        for value in values("Dockerfile", "RUN")
        for command in value.split("&&")
        if command.strip().startswith("pip install")
    ]
    torch, libraries, minilm, stemcell = installs
    # torch is there, in the build that is wanted, before pip could take another one.
    index = '${TORCH_INDEX:+--index-url "$TORCH_INDEX"}'
    assert torch == f"pip install --no-deps {index} --constraint constraints.txt torch"
    assert libraries == "pip install --constraint constraints.txt --requirement requirements.txt"
    assert minilm.endswith(" --no-deps " + PROJECT["optional-dependencies"]["minilm"][0])
    assert stemcell == "pip install --no-deps --no-build-isolation ."
    for requirement in map(
        Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    ):
        assert requirement.specifier.contains(pins()[requirement.name])


def test_the_image_takes_the_libraries_from_the_project(tmp_path: Path) -> None:
    (lists,) = re.findall(r"(python -c .*> requirements\.txt)", "\n".join(values("Dockerfile", "RUN")))
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", lists], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    assert (tmp_path / "requirements.txt").read_text().splitlines() == PROJECT["dependencies"]


def test_all_that_the_image_writes_is_on_its_volume() -> None:
    (volume,) = values("Dockerfile", "VOLUME")
    assert values("Dockerfile", "ENV")[-1] == f"HOME={volume} STEMCELL_HOME={volume}"
    assert values("Dockerfile", "WORKDIR")[-1] == volume
    (user,) = (value for value in values("Dockerfile", "RUN") if value.startswith("useradd"))
    assert f"--home-dir {volume} " in user
    assert user.endswith(f" --mode=1777 {volume}"), "any user may write to it"


def test_ci_runs_the_images_demo_without_a_network() -> None:
    commands = [step["run"] for step in workflow("ci")["jobs"]["docker"]["steps"] if "run" in step]
    assert commands[0] == "docker build --tag stemcell ."
    assert all(command.startswith("docker run --rm --network none ") for command in commands[1:])
    (demo,) = (value for value in values("Dockerfile", "COPY") if value.startswith("scripts/demo "))
    name = Path(demo.split()[1]).name
    assert commands[-1].endswith(f"--entrypoint {name} stemcell")
    assert f"--entrypoint {name} stemcell" in (ROOT / "Dockerfile").read_text("utf-8").split("FROM")[0]
    assert (ROOT / "scripts/demo").stat().st_mode & 0o111 == 0o111


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
