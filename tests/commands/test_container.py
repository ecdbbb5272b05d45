"""Can the container's user write to every folder that it writes to, whichever builder made the image?"""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
START = "FROM x\nRUN useradd --create-home u\n"


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield a Dockerfile's instructions with their arguments: lines that a backslash continues are one, comments none."""
    whole = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in filter(None, map(str.strip, whole.replace("\\\n", " ").splitlines())):
        name, _, rest = line.partition(" ")
        yield name.upper(), rest.strip()


def commands(line: str) -> Iterator[list[str]]:
    """Yield the commands of a shell line."""
    for part in re.split(r"&&|;|\|\|", line):
        yield shlex.split(part)


class Image:
    """An image while the classic builder makes it: who it is, where, which folders there are and whose."""

    def __init__(self, text: str) -> None:
        self.user, self.folder = "root", PurePosixPath("/")
        self.owners: list[tuple[PurePosixPath, str]] = [(self.folder, "root")]  # of a folder and all in it; the last holds
        self.refused: list[str] = []  # where the user writes to what is root's, or is not there
        known = {"WORKDIR": self.workdir, "COPY": self.copy, "RUN": self.run}
        for name, rest in instructions(text):
            if name == "USER":
                self.user = rest.partition(":")[0]
            elif name in known:
                known[name](rest)

    def owner(self, path: PurePosixPath) -> str:
        return [owner for folder, owner in self.owners if path.is_relative_to(folder)][-1]

    def write(self, what: str, path: PurePosixPath, there: bool = True) -> None:
        if self.user != "root" and not (there and self.owner(path) == self.user):
            self.refused.append(f"{what} {path}")

    def workdir(self, rest: str) -> None:
        self.folder = self.folder / rest
        self.write("WORKDIR", self.folder, self.folder in [folder for folder, _ in self.owners])

    def copy(self, rest: str) -> None:
        *options, target = shlex.split(rest)
        self.write("COPY", self.folder / target, f"--chown={self.user}" in options)

    def run(self, rest: str) -> None:
        for words in commands(rest):
            paths = [self.folder / word for word in words[1:] if not word.startswith("-")]
            if words[0] == "useradd" and "--create-home" in words:
                self.owners.append((PurePosixPath("/home") / words[-1], words[-1]))
            elif words[0] == "mkdir":
                for path in paths:
                    self.make(path, parents="-p" in words)
            elif words[:2] == ["chown", "-R"]:
                self.owners += [(path, words[2].partition(":")[0]) for path in paths[1:]]

    def make(self, path: PurePosixPath, parents: bool) -> None:
        """Make a folder, and where it is asked for those above that are not there."""
        there = {folder for folder, _ in self.owners}
        for folder in reversed((path, *(path.parents if parents else ()))):
            if folder not in there and folder != PurePosixPath("/home"):
                self.write("mkdir", folder)
                self.owners.append((folder, self.user))


def test_every_folder_that_the_user_writes_to_is_made_and_given_to_it_before() -> None:
    assert Image(TEXT).refused == []
    names = [name for name, _ in instructions(TEXT)]
    assert names.count("USER") == 1 and names.index("USER") < names.index("WORKDIR") < names.index("COPY")
    assert Image(TEXT).user != "root"


def test_a_folder_that_workdir_makes_or_that_stays_roots_is_found() -> None:
    late, root = f"{START}USER u\nWORKDIR /home/u/app\nRUN mkdir data\n", f"{START}RUN mkdir -p /srv/app\nUSER u\n"
    assert Image(late).refused == ["WORKDIR /home/u/app"]
    assert Image(f"{root}WORKDIR /srv/app\nCOPY --chown=u a b\n").refused == ["WORKDIR /srv/app", "COPY /srv/app/b"]
    assert Image(f"{root}RUN mkdir -p /srv/app/data\n").refused == ["mkdir /srv/app/data"]
    given = f"{START}RUN mkdir -p /srv/app/data && chown -R u:u /srv/app\nUSER u\nWORKDIR /srv/app\n"
    assert Image(given).refused == [] and Image(f"{given}COPY a b\n").refused == ["COPY /srv/app/b"]
    assert Image(f"{given}RUN mkdir more && mkdir /srv/other\n").refused == ["mkdir /srv/other"]


def test_the_folder_that_a_volume_is_mounted_over_is_there_and_the_users() -> None:
    """A named volume takes its owner from the folder under it."""
    (mounted,) = map(PurePosixPath, re.findall(r"-v emberpool:(\S+)", TEXT))
    image = Image(TEXT)
    assert mounted in [folder for folder, _ in image.owners] and image.owner(mounted) == image.user
