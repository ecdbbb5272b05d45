"""The file of a study: one line that says what is studied, then one line a finished seed; and the run that fills it.

A seed's line is durable before the next one is waited for, so a study that is stopped or killed goes on where it was.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from engine import version
from engine.errors import BadFile
from engine.study.accuracy import Plan, Score, Seed, one_seed
from engine.table import write_atomically
from engine.worker import polite

STORED = Path(__file__).parent / "accuracy_dlrm_kaggle.jsonl"


@dataclass(frozen=True)
class Study:
    """A plan, the day and the model version of its first seed, and the finished seeds by number."""

    plan: Plan
    date: str
    model: str
    seeds: Mapping[int, Seed]

    @property
    def command(self) -> str:
        """The command that computes these seeds anew."""
        plan, usual = self.plan, Plan()
        options = {
            "preset": plan.preset,
            "batches": plan.batches,
            "crash-at": plan.crash_at,
            "held-out": plan.held_out_samples,
            "staleness": ",".join(map(str, plan.staleness)),
        }
        usually = (usual.preset, usual.batches, usual.crash_at, usual.held_out_samples, ",".join(map(str, usual.staleness)))
        others = [f" --{name} {ours}" for (name, ours), other in zip(options.items(), usually, strict=True) if ours != other]
        return f"python -m engine study accuracy --seeds {len(self.seeds)}{''.join(others)}"


def read(path: Path) -> Study:
    """Return what a file holds; a last line cut short by a power loss or a kill does not count. Raises BadFile."""
    try:
        head, *lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        said = json.loads(head)
        plan = Plan(**{**said["plan"], "staleness": tuple(said["plan"]["staleness"])})
        return Study(plan, said["date"], said["model_version"], {seed.seed: seed for seed in map(_seed, lines)})
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}; check the path.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadFile(f"{path} is not the file of an accuracy study; give another --out, or move it away.") from error


def begin(path: Path, plan: Plan, date: str) -> Study:
    """Return the study to go on with, its file written; raises BadFile where the file holds another study."""
    study = Study(plan, date, version.MODEL, {})
    if path.exists():
        study = read(path)
        if (study.plan, study.model) != (plan, version.MODEL):
            raise BadFile(
                f"{path} holds another study, of `{study.command}` and model version {study.model}; "
                "give another --out, or move it away."
            )
    write_atomically(path, _text(study))
    return study


def advance(path: Path, study: Study, seeds: Sequence[int], jobs: int) -> Iterator[Seed]:
    """Compute the seeds that are missing, in `jobs` processes; yield each once its line is durable.

    At the end the lines are put in the order of their seeds: the file does not depend on the number of processes.
    """
    missing = [seed for seed in seeds if seed not in study.seeds]
    with parallel_config("loky", initializer=polite, initargs=(os.getpid(),), inner_max_num_threads=1):
        pool = Parallel(jobs, pre_dispatch=jobs, batch_size=1, return_as="generator_unordered")
        finished = pool(delayed(one_seed)(study.plan, seed) for seed in missing)
    try:
        for seed in finished:
            _append(path, seed)
            yield seed
        write_atomically(path, _text(read(path)))
    finally:
        get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _append(path: Path, seed: Seed) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_line(seed))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}; choose another --out or free some space.") from error


def _text(study: Study) -> str:
    head = {"study": "accuracy", "date": study.date, "model_version": study.model, "plan": asdict(study.plan)}
    return json.dumps(head) + "\n" + "".join(_line(study.seeds[number]) for number in sorted(study.seeds))


def _line(seed: Seed) -> str:
    scores = {name: {g: score._asdict() for g, score in getattr(seed, name).items()} for name in ("at_recovery", "at_end")}
    return json.dumps({"seed": seed.seed, "twin": seed.twin, **scores}) + "\n"


def _seed(line: str) -> Seed:
    said = json.loads(line)
    return Seed(said["seed"], said["twin"], _scores(said["at_recovery"]), _scores(said["at_end"]))


def _scores(said: Mapping[str, Any]) -> Mapping[int, Score]:
    return {int(g): Score(**score) for g, score in said.items()}
