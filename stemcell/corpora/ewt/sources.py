"""The three public repositories, at pinned commits, or local copies of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stemcell.errors import UserError


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: its folder's name, where it is cloned from, the commit that is used and the part of it that is."""

    name: str
    url: str
    commit: str
    part: str


REPOSITORIES = (
    Repository(
        "UD_English-EWT",
        "https://github.com/UniversalDependencies/UD_English-EWT",
        "15d613d8447b3478787d4c278730a1e48a945efb",
        ".",
    ),
    Repository(
        "UNER_English-EWT",
        "https://github.com/UniversalNER/UNER_English-EWT",
        "8ed072de2fd24022cc62458997fe96a8fe191ea4",
        ".",
    ),
    Repository(
        "propbank-release",
        "https://github.com/propbank/propbank-release",
        "4abade0b53ce4a181e1d98b3518101c1a44d395a",
        "data/google/ewt",
    ),
)


def clone_all(folder: Path) -> None:
    """Fetch every repository's pinned commit into ``folder/NAME``.

    Git names a commit by a hash of all it holds, so that what is fetched is what was pinned, or nothing.
    Raises :class:`UserError` if git is missing, a repository cannot be reached or has no such commit.
    """
    if shutil.which("git") is None:
        raise UserError("git is not installed; install it, or give local copies of the repositories with --source")
    for repository in REPOSITORIES:
        print(f"fetching {repository.url} at {repository.commit[:12]}", flush=True)
        _clone(repository, folder / repository.name)


def _clone(repository: Repository, target: Path) -> None:
    def git(*arguments: str) -> str:
        # A stalled connection ends after a minute, and a repository that asks for a password counts as not there.
        patience = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"]
        done = subprocess.run(
            ["git", *patience, "-C", str(target), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
        if done.returncode != 0:
            why = (done.stderr.strip().splitlines() or [f"git {arguments[0]} failed"])[-1]
            raise UserError(
                f"could not fetch {repository.url} at commit {repository.commit}: {why}; "
                "check the network, or give local copies of the repositories with --source"
            )
        return done.stdout.strip()

    target.mkdir()
    git("init", "--quiet")
    git("remote", "add", "origin", repository.url)
    # Only the commit, and of its files only those that are checked out: propbank-release is large.
    git("fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", repository.commit)
    found = git("rev-parse", "FETCH_HEAD^{commit}")
    if found != repository.commit:
        raise UserError(f"{repository.url} gave commit {found} instead of {repository.commit}; nothing was built")
    git("checkout", "--quiet", found, "--", repository.part)
