"""The crash explorer's reference run, with the keywords that the tests of persistence use."""

from engine.crashcheck import reference_run as of
from engine.crashcheck.reference_run import SEED, Configuration, Journal, Size
from engine.persistence.crash_media import CrashMedia

__all__ = ["SEED", "Journal", "formatted", "story", "train"]


def story(
    log="undo", relaxed=False, near_data=False, late_home=False, num_rows=8, dim=9, mlp_bytes=88, batches=4, touched_rows=4,
    seed=0, mixed=False,
):  # fmt: skip
    """Return a small run with overlapping batches, rows that straddle lines, and values that differ everywhere."""
    return of.reference_run(
        Configuration(log, relaxed, near_data, late_home, mixed=mixed),
        seed,
        Size(num_rows, dim, mlp_bytes, batches, touched_rows),
    )


def formatted(tale):
    """Return a medium that holds the state at the start of the first batch."""
    media = CrashMedia(tale.layout.nbytes)
    of.write_start(tale, media)
    return media


def train(tale, media, first_batch=0, journal=None):
    """Run batches from `first_batch`; the journal keeps the newest boundary acknowledged as durable."""
    of.train(tale, of.attach(tale.configuration, media), first_batch, journal or Journal())
