"""The number of samples that trained a run's model, compared with its data set."""

from ..core.figures import count, figure
from ..training.trained_batches import num_trained
from ..workload.popularity import SAMPLES
from .citations import FITTED_TO
from .result import Result

# MLPerf Training's DLRM on the 1TB logs: AUC evaluated after 5 and after 20 % of the samples.
REPORTED_AUC = {"terabyte": ((210e6, 0.777), (839e6, 0.792))}
HELD_OUT_ERROR = "± is one standard error of an AUC, due to the number of held-out samples alone; seeds and training add to it."


def trained_samples(result: Result) -> int:
    """Return the number of samples that trained the final weights.

    The number is that of surviving trained batches times the batch size.
    """
    scenario = result.scenario
    return (
        num_trained(result.training[-1]["Batch"] + 1, scenario.run.train_every) * scenario.data.batch_size
        if result.training
        else 0
    )


def samples_note(result: Result) -> str:
    """Return a sentence on the number of trained samples, compared with the data set.

    Return "" if the result has no AUC.
    """
    if result.results.get("AUC") is None or not (samples := trained_samples(result)):
        return ""
    data_knobs = result.scenario.data
    learned = f"The model learned from {count(samples, 'sample')}"
    if data_knobs.digest:
        return f"{learned} of the file, each pass counted."
    if data_knobs.popularity not in SAMPLES:
        return f"{learned} of the generator."
    imitated = f"the data set that it imitates, {FITTED_TO[data_knobs.popularity]}, has {figure(SAMPLES[data_knobs.popularity])}"
    reported = " and ".join(
        f"{figure(area)} after {figure(sample_count)}" for sample_count, area in REPORTED_AUC.get(data_knobs.popularity, ())
    )
    return f"{learned} of the generator; {imitated}{f', and MLPerf reports an AUC of {reported}' if reported else ''}."
