"""The file of a study, and the run that fills the file.

The first line has the plan, each further line a finished seed.
A seed's line is durable before the run waits for the next seed, so a study that is stopped or killed continues from there.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loky import ProcessPoolExecutor, as_completed

from ... import version
from ...core.figures import count
from ...errors import BadFile, CannotRun
from ...results.csv_table import write_atomically
from ...service.pool import WORKERS
from ...service.worker import CODE_CHANGED, lower_priority
from ...user_text import decoded_file, json_content
from . import accuracy, protections, rollbacks
from .accuracy import Score, Seed

STORED_ACCURACY = Path(__file__).parent / "accuracy_dlrm_kaggle.jsonl"
STORED_PROTECTIONS = Path(__file__).parent / "protections_dlrm_kaggle.jsonl"
STORED_ROLLBACKS = Path(__file__).parent / "rollbacks_dlrm_kaggle.jsonl"
Plan = Any  # one of the plans in KINDS


@dataclass(frozen=True)
class StudyKind:
    """A kind of study.

    plan: the type of its plan.
    seeds: its usual number of seeds.
    check: the function that refuses a plan.
    one_seed: the function that computes one seed.
    variants_field: the plan's field that lists the variants.
    parse_variant: the function that reads a variant's name in the file.
    reference: the variant with which all others are compared.
    """

    plan: type[Any]
    seeds: int
    check: Callable[[Any], None]
    one_seed: Callable[[Any, int], Seed]
    variants_field: str
    parse_variant: Callable[[str], Any]
    reference: Any


KINDS = {
    "accuracy": StudyKind(accuracy.AccuracyPlan, 24, accuracy.check_plan, accuracy.one_seed, "staleness", int, 0),
    "protections": StudyKind(
        protections.ProtectionsPlan, 10, protections.check_plan, protections.one_seed, "variants", str, protections.NO_CHANGE
    ),
    "rollbacks": StudyKind(
        rollbacks.RollbacksPlan, 6, rollbacks.check_plan, rollbacks.one_seed, "variants", str, rollbacks.NO_FAULT
    ),
}


@dataclass(frozen=True)
class Study:
    """The content of a study's file.

    plan: the plan, of a type in KINDS.
    date: the day of its first seed.
    model: the model version of its first seed.
    seeds: the finished seeds by number.
    code: the code version that computed them; "" in files that were written before codes were recorded.
    """

    plan: Plan
    date: str
    model: str
    seeds: Mapping[int, Seed]
    code: str = ""

    @property
    def kind_name(self) -> str:
        """The name of the study's kind."""
        return next(name for name, kind in KINDS.items() if isinstance(self.plan, kind.plan))

    @property
    def command(self) -> str:
        """The command that computes these seeds again."""
        kind = KINDS[self.kind_name]
        options, default_options = _options(self.plan, kind), _options(kind.plan(), kind)
        changed_options = [f" --{name} {setting}" for name, setting in options.items() if setting != default_options[name]]
        return f"{version.PROGRAM} study {self.kind_name} --seeds {len(self.seeds)}{''.join(changed_options)}"


def _options(plan: Plan, kind: StudyKind) -> dict[str, Any]:
    """Return the plan as the command's options."""
    return {
        "preset": plan.preset,
        "batches": plan.batches,
        "crash-at": plan.crash_at,
        "held-out": plan.held_out_samples,
        kind.variants_field: ",".join(map(str, getattr(plan, kind.variants_field))),
        **({"age": plan.age} if isinstance(plan, rollbacks.RollbacksPlan) else {}),
    }


def read_study(path: Path) -> Study:
    """Return the study of a file; raises BadFile.

    A last line that a power loss or a kill has cut short is ignored.
    """
    try:
        head, *lines = decoded_file(path).split("\n")[:-1]
        header = json_content(head, path)
        kind = KINDS[header["study"]]
        plan = kind.plan(
            **{
                name: tuple(field_value) if isinstance(field_value, list) else field_value
                for name, field_value in header["plan"].items()
            }
        )
        variants = {kind.reference, *getattr(plan, kind.variants_field)}
        seeds = {seed.seed: seed for seed in (_seed(kind, line, path) for line in lines)}
        if any(seed.at_recovery.keys() != variants or seed.at_end.keys() != variants for seed in seeds.values()):
            raise ValueError("a seed has not the variants of the plan")
        return Study(plan, header["date"], header["model_version"], seeds, header.get("code", ""))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadFile(f"{path} is not the file of an accuracy study; give another --out, or move the file away.") from error


def open_study(path: Path, plan: Plan, date: str) -> Study:
    """Create a study's file, or read the existing one, and return the study.

    Raises BadFile where the file holds another study, or seeds of other code.
    """
    study = Study(plan, date, version.MODEL, {}, version.CODE)
    if path.exists() and not path.is_file():
        raise BadFile(f"{path} is not a regular file, so it cannot hold a study; give another --out.")
    if path.exists():
        study = read_study(path)
        if (study.plan, study.model) != (plan, version.MODEL):
            raise BadFile(
                f"{path} holds another study, of `{study.command}` and model version {study.model}; "
                "give another --out, or move it away."
            )
        if study.code != version.CODE:
            raise BadFile(
                f"{path} has {count(len(study.seeds), 'seed')} from another version of Emberpool's code, which "
                "cannot be paired with new "
                "ones; give another --out, or move the file away."
            )
    write_atomically(path, _text(study))
    return study


def run_seeds(path: Path, study: Study, seeds: Sequence[int], jobs: int) -> Iterator[Seed]:
    """Compute missing seeds in `jobs` processes; yield each once its line is durable.

    At the end the file's lines are put in the order of seeds.
    """
    missing_seeds = [seed for seed in seeds if seed not in study.seeds]
    pool = ProcessPoolExecutor(jobs, initializer=lower_priority, initargs=(os.getpid(),), **WORKERS)
    try:
        for future in as_completed([pool.submit(KINDS[study.kind_name].one_seed, study.plan, seed) for seed in missing_seeds]):
            seed = future.result()
            if version.code_has_changed():
                raise CannotRun(CODE_CHANGED)
            _append(path, seed)
            yield seed
        write_atomically(path, _text(read_study(path)))
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _append(path: Path, seed: Seed) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_line(seed))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}; choose another --out or free some space.") from error


def _text(study: Study) -> str:
    head = {"study": study.kind_name, "date": study.date, "model_version": study.model, "plan": asdict(study.plan)}
    head |= {"code": study.code} if study.code else {}
    return json.dumps(head) + "\n" + "".join(_line(study.seeds[number]) for number in sorted(study.seeds))


def _line(seed: Seed) -> str:
    scores = {name: {g: score._asdict() for g, score in getattr(seed, name).items()} for name in ("at_recovery", "at_end")}
    return json.dumps({"seed": seed.seed, "twin": seed.twin, **scores}) + "\n"


def _seed(kind: StudyKind, line: str, path: Path) -> Seed:
    seed_fields = json_content(line, path)
    at_recovery, at_end = (
        {kind.parse_variant(name): _score(score) for name, score in seed_fields[moment].items()}
        for moment in ("at_recovery", "at_end")
    )
    return Seed(seed_fields["seed"], seed_fields["twin"], at_recovery, at_end)


def _score(score_fields: Mapping[str, Any]) -> Score:
    return Score(**{measure: float(mean) for measure, mean in score_fields.items()})
