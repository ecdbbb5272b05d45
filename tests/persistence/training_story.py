"""The crash explorer's story, with the keywords that the durability tests use."""

from engine.crashcheck import reference_run as of
from engine.crashcheck.reference_run import BATCH_SIZE, SEED, Configuration, Journal, Size
from engine.persistence import CrashMedia

__all__ = ["BATCH_SIZE", "SEED", "formatted", "story", "train"]


def story(
    log="undo", relaxed=False, near_data=False, late_home=False, num_rows=8, dim=9, mlp_bytes=88, batches=4, touched=4, seed=0
):
    """Return a small run with overlapping batches, rows that straddle lines, and values that differ everywhere."""
    return of.reference_run(
        Configuration(log, relaxed, near_data, late_home), seed, Size(num_rows, dim, mlp_bytes, batches, touched)
    )


def formatted(tale, batch=0):
    """Return a medium that holds the state at the start of `batch`."""
    media = CrashMedia(tale.layout.nbytes)
    of.begin(tale, media, batch)
    return media


class Boundaries(Journal):
    """A journal that appends each acknowledged boundary to a list."""

    def __init__(self, seen):
        super().__init__()
        self.__dict__["seen"] = seen

    def __setattr__(self, name, value):
        if "seen" in self.__dict__:
            self.seen.append(value)
        super().__setattr__(name, value)


def train(tale, media, first, acknowledged):
    """Run batches from `first`; append each boundary acknowledged as durable."""
    of.train(tale, of.attach(tale, media), first, Boundaries(acknowledged))
