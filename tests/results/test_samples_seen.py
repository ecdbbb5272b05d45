"""Does a finished run say from how few samples its AUC comes, and read with its error on the command line?"""

from dataclasses import replace

import pytest

from engine.commands.run import summary
from engine.results import falling_auc
from engine.results.metrics import ERRORS, METRICS, error_of
from engine.results.result import Result
from engine.results.samples_seen import samples_note, trained_samples
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values

TRAINED = {"AUC": 0.76447, "AUC error": 0.00124, "AUC (training)": 0.7236, "AUC error (training)": 0.00079}


def finished(name="tiny", batches=300, results=TRAINED, **knobs):
    """A run that ended with so many batches in its weights, its curve thinned."""
    scenario = with_values(preset(name).scenario, knobs)
    rows = tuple({"Batch": n, "AUC": 0.7, "AUC error": 0.01} for n in (0, batches // 2, batches - 1))
    return Result(scenario, ran=True, outcome="Completed.", results=results, training=rows)


def test_each_auc_among_the_results_has_its_error_among_them():
    names = [metric.name for metric in METRICS.values()]
    assert {name for name in names if name.startswith("AUC") and "error" not in name} == set(ERRORS)
    assert set(ERRORS.values()) <= set(names) and error_of("Loss", TRAINED) is None
    assert error_of("AUC", TRAINED) == 0.00124 and error_of("AUC", {"AUC": 0.7}) is None


@pytest.mark.parametrize(
    ("results", "says"),
    [
        (TRAINED, "  AUC             0.7645 ± 0.0012\n  AUC (training)  0.7236 ± 0.0008\n"),
        ({"AUC": 0.7125, "AUC error": 0.1234}, "  AUC  0.71 ± 0.12\n"),
        ({"AUC": 1.0, "AUC error": None}, "  AUC  1.00\n"),
        ({"AUC": None, "AUC error": None}, "Completed.\n"),
    ],
)
def test_the_command_line_prints_an_auc_in_the_digits_that_its_error_justifies(results, says):
    told = summary(finished(results=results))
    assert says in told and "AUC error" not in told
    assert ("The model learned from 4,800 samples" in told) == (results["AUC"] is not None)


def test_samples_are_those_of_the_batches_that_stayed():
    assert trained_samples(finished(batches=300)) == 300 * 16
    assert trained_samples(finished(batches=40, **{"data.batch_size": 500})) == 20_000
    assert trained_samples(replace(finished(), training=())) == 0 and samples_note(replace(finished(), training=())) == ""
    assert samples_note(finished(results={"AUC": None})) == ""


def test_the_note_names_the_data_set_that_a_real_run_would_have_and_what_is_reported_on_it():
    assert samples_note(finished("dlrm-terabyte")) == (
        "The model learned from 614,400 samples of the generator; the data set that it imitates, Criteo 1TB Click Logs, has "
        "4.20 billion, and MLPerf reports an AUC of 0.777 after 210 million and 0.792 after 839 million."
    )
    kaggle = samples_note(finished("dlrm-kaggle", 4000))
    assert "512,000 samples" in kaggle and kaggle.endswith("Criteo Display Advertising Challenge, has 45.8 million.")
    assert samples_note(finished(**{"data.popularity": "uniform"})).endswith("4,800 samples of the generator.")
    assert samples_note(finished(**{"data.digest": "ab" * 32})).endswith("4,800 samples of the file, each pass counted.")


def test_the_highest_auc_before_a_fall_has_its_error():
    rows = [{"Batch": n, "AUC": auc, "AUC error": 0.0123} for n, auc in ((9, 0.70321), (19, 0.68))]
    assert "was highest, 0.703 ± 0.012, after 10 batches" in falling_auc.falling_auc_advice(rows, preset("tiny").scenario)
    within = [rows[0], {"Batch": 19, "AUC": 0.692, "AUC error": 0.0123}]
    assert falling_auc.falling_auc_advice(within, preset("tiny").scenario) == "", "it may be the samples alone"
