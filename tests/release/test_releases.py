"""Do the version in pyproject.toml, the sections of CHANGELOG.md, CITATION.cff and the git tags name the same releases?"""

import re
import subprocess
import tomllib
from collections.abc import Sequence

import pytest
from packaging.version import Version

from engine.version import LINK, MODEL
from tests import ROOT, stamps
from tests.cases import each
from tests.fences.test_documents import PICTURE_SCRIPT

SECTION = re.compile(
    r"^## (?:Unreleased|(\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)) \(model version ([\d.]+), link format (\d+)\)$", re.M
)
TAG = re.compile(r"v(\d+\.\d+\.\d+)")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def tags(*options: str) -> list[str]:
    """Return the git tags of releases in this checkout; [] outside a checkout, or without git."""
    try:
        listed = subprocess.run(["git", "tag", *options], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [tag for tag in listed if TAG.fullmatch(tag)]


def is_release(version: str, changelog: str) -> bool:
    """Return whether the newest section of the change log is a version's, and not Unreleased."""
    return SECTION.findall(changelog)[0][0] == version


def disagreements(version: str, changelog: str, all_tags: Sequence[str], tags_of_commit: Sequence[str]) -> list[str]:
    """Return a sentence for each disagreement of the version, the change log and the tags."""
    sections = [section[0] for section in SECTION.findall(changelog)]
    releases = [release for release in sections if release]
    sentences = []
    if releases[:1] != [version]:
        sentences.append(f"pyproject.toml has version {version}; the newest release in CHANGELOG.md is {releases[:1]}.")
    if releases != sorted(releases, key=Version, reverse=True) or "" in sections[1:]:
        sentences.append("The sections of CHANGELOG.md are not in order: Unreleased, then the newest release first.")
    for tag in all_tags:
        if tag[1:] not in releases:
            sentences.append(f"CHANGELOG.md has no section for the tag {tag}.")
        if Version(tag) > Version(version):
            sentences.append(f"The tag {tag} is ahead of version {version}.")
    if tags_of_commit and (list(tags_of_commit) != [f"v{version}"] or sections[:1] != [version]):
        sentences.append(
            f"This commit has the tags {tags_of_commit}; its version is {version}, its newest section {sections[:1]}."
        )
    return sentences


def test_version_change_log_and_tags_agree() -> None:
    assert disagreements(VERSION, CHANGELOG, tags(), tags("--points-at", "HEAD")) == []


@pytest.mark.slow
def test_a_release_shows_no_picture_of_an_earlier_model_version() -> None:
    assert not is_release(VERSION, CHANGELOG) or PICTURE_SCRIPT.older_pictures() == []


def open_jobs_of_release(version: str, changelog: str, job: str | None, open_jobs: Sequence[str]) -> list[str]:
    """Return the sentences on slow jobs that a release must not have; a job that runs now has its stamp at its end."""
    return [sentence for sentence in open_jobs if is_release(version, changelog) and sentence.split()[0] != job]


@pytest.mark.slow
def test_a_release_has_a_green_stamp_of_each_slow_job(request: pytest.FixtureRequest) -> None:
    assert open_jobs_of_release(VERSION, CHANGELOG, request.config.getoption("--job"), stamps.open_jobs()) == []


def test_each_heading_of_the_change_log_is_a_section_and_the_newest_has_the_versions_of_the_code() -> None:
    sections = SECTION.findall(CHANGELOG)
    assert len(sections) == len(re.findall("^## ", CHANGELOG, re.M))
    assert sections[0][2:] == (MODEL, str(LINK))


def test_the_citation_has_the_date_of_the_release() -> None:
    dates = {version: date for version, date, *_ in SECTION.findall(CHANGELOG)}
    cited = re.search(r'^date-released: "(.+)"$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited and cited[1] == dates[VERSION]


OPEN, FIRST, SECOND = (
    f"## {name} (model version 0.1, link format 1)\n" for name in ("Unreleased", "1.0.0, 2026-11-24", "1.1.0, 2026-12-24")
)


@each(
    "case",
    [
        ("1.0.0", OPEN + FIRST, [], [], ""),
        ("1.0.0", OPEN + FIRST, ["v1.0.0"], [], ""),
        ("1.1.0", SECOND + FIRST, ["v1.0.0", "v1.1.0"], ["v1.1.0"], ""),
        ("1.1.0", OPEN + FIRST, [], [], "newest release in CHANGELOG.md is"),
        ("1.1.0", FIRST + SECOND, [], [], "not in order"),
        ("1.0.0", FIRST + OPEN, [], [], "not in order"),
        ("1.0.0", OPEN + FIRST, ["v0.9.0"], [], "no section for the tag v0.9.0"),
        ("1.0.0", OPEN + FIRST, ["v1.1.0"], [], "v1.1.0 is ahead of version 1.0.0"),
        ("1.1.0", SECOND + FIRST, ["v1.0.0"], ["v1.0.0"], "This commit has the tags"),
        ("1.0.0", OPEN + FIRST, ["v1.0.0"], ["v1.0.0"], "This commit has the tags"),
    ],
)
def test_a_disagreement_is_a_sentence(case: tuple[str, str, list[str], list[str], str]) -> None:
    *given, words = case
    found = disagreements(*given)
    assert any(words in sentence for sentence in found) if words else found == []


def test_a_missing_or_red_stamp_fails_a_release_and_no_other_commit() -> None:
    sentences = ["slow-store has no stamp; ...", "slow-release failed 1 of 9 tests at commit 0123abcd; ..."]
    assert open_jobs_of_release("1.0.0", FIRST, None, sentences) == sentences
    assert open_jobs_of_release("1.0.0", FIRST, "slow-release", sentences) == sentences[:1]
    assert open_jobs_of_release("1.0.0", OPEN + FIRST, None, sentences) == []
