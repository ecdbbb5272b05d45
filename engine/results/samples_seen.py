"""How many samples a run's model has learned from, beside those that a real run would see."""

from ..core.figures import count, figure
from ..workload.popularity import SAMPLES
from .citations import FITTED_TO
from .result import Result

# MLPerf Training's DLRM on the 1TB logs: AUC evaluated after 5 and after 20 % of the samples.
REPORTED = {"terabyte": ((210e6, 0.777), (839e6, 0.792))}
HELD_OUT_ERROR = "± is one standard error of an AUC, by the number of held-out samples alone; seeds and training add to it."


def trained_samples(result: Result) -> int:
    """Return how many samples the final weights have learned from: batches that stayed, times the batch size."""
    return (result.training[-1]["Batch"] + 1) * result.scenario.data.batch_size if result.training else 0


def samples_note(result: Result) -> str:
    """Return on how many samples a run was trained and how many the imitated data set has; "" where no AUC is known."""
    if result.results.get("AUC") is None or not (samples := trained_samples(result)):
        return ""
    data = result.scenario.data
    learned = f"The model learned from {count(samples, 'sample')}"
    if data.digest:
        return f"{learned} of the file, each pass counted."
    if data.popularity not in SAMPLES:
        return f"{learned} of the generator."
    imitated = f"the data set that it imitates, {FITTED_TO[data.popularity]}, has {figure(SAMPLES[data.popularity])}"
    reported = " and ".join(f"{figure(area)} after {figure(seen)}" for seen, area in REPORTED.get(data.popularity, ()))
    return f"{learned} of the generator; {imitated}{f', and MLPerf reports an AUC of {reported}' if reported else ''}."
