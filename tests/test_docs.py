"""References from the code to the method name sections that exist; links between documents lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
METHOD = (ROOT / "docs" / "method.md").read_text("utf-8")
SECTIONS = set(re.findall(r"^#{2,4} (\d(?:\.\d+)?[a-z]?) ", METHOD, re.MULTILINE))
REFERENCE = re.compile(r"docs/method\.md(?:,\s+sections?\s+(\d[\w.]*\w|\d)(?:\s+and\s+(\d[\w.]*\w|\d))?)?")
PLACES = ("stemcell", "tests", "scripts", "sweeps", "mlflow", "docs")
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(path for place in PLACES for path in sorted((ROOT / place).rglob("*.md"))),
]


def sources() -> list[Path]:
    """All that may refer to the method."""
    found = [path for place in PLACES for path in (ROOT / place).rglob("*") if path.suffix in {".py", ".md", ".yaml"}]
    return [path for path in [*found, *ROOT.glob("*.md")] if path != Path(__file__)]


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_method_has_its_sections_in_order() -> None:
    assert re.findall(r"^## (\d) ", METHOD, re.MULTILINE) == [str(number) for number in range(1, 9)]


def test_references_to_the_method_name_sections_that_exist() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), number)
        for path in sources()
        for match in REFERENCE.finditer(path.read_text("utf-8"))
        for number in match.groups()
        if number
    }
    assert len(found) > 30
    assert [(path, number) for path, number in sorted(found) if number not in SECTIONS] == []


def test_every_reference_in_the_code_names_a_section() -> None:
    bare = re.compile(r"docs/method\.md(?!,\s+sections?\s+\d)|\bMETHOD\b")
    code = [path for path in sources() if path.suffix == ".py"]
    assert [path.relative_to(ROOT).as_posix() for path in code if bare.search(path.read_text("utf-8"))] == []


def test_links_lead_somewhere() -> None:
    broken = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text("utf-8")):
            if re.match(r"https?:|mailto:", target):
                continue
            name, _, anchor = target.partition("#")
            path = document.parent / name if name else document
            if not path.exists() or (anchor and anchor not in anchors(path.read_text("utf-8"))):
                broken.append(f"{document.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_document_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)", (ROOT / "README.md").read_text("utf-8")))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 1500


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert f"## {project['version']}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
