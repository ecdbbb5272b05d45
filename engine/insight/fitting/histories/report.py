"""Sentences and rows on a fit of histories: the file's meaning, and the fit's accuracy."""

from collections.abc import Iterator, Sequence
from typing import Any

from ....core.arrays import Row
from ....core.figures import count, exact, figure, percent
from .fit import DEFAULT_CAP, HistoryFit

FAR_LENGTHS, FAR_DUPLICATES = 0.1, 0.1  # share of histories, and relative error, from which on a fit is called off
BAGS_INSTEAD = "To read one lookup a sample instead, add --bags, or use the switch on the page Data."


def history_sentences(fit: HistoryFit, columns: Sequence[str]) -> Iterator[str]:
    """Yield what a file's rows were taken for, and the fit's numbers."""
    yield f"{conclusion(fit, columns)} {_way(fit)}"
    yield length_sentence(fit)
    yield batch_sentence(fit)
    yield duplicates_sentence(fit, columns)


def conclusion(fit: HistoryFit, columns: Sequence[str]) -> str:
    """Return what the file's rows were taken for."""
    events = " and ".join(columns[table] for table in fit.fields.events)
    user = "" if fit.fields.user is None else columns[fit.fields.user]
    if fit.fields.in_rows:
        whose = f"the user is in {user}" if user else "no column of users is named, so each row has a user of its own"
        return f"Each row is a sample, with its history ({events}) as a list; {whose}. The last event is the candidate."
    rows = "Each row has the events of a user as lists" if fit.fields.exploded else "Each row is an event of a user"
    order = "" if fit.is_user_major else " Users are mixed in the file."
    return f"{rows} ({user}). The history of a sample has the events ({events}) of its user up to it, in the file's order.{order}"


def _way(fit: HistoryFit) -> str:
    """Return how to say that the conclusion is wrong."""
    if fit.fields.in_rows:
        return f'If each event is a sample, write anchors = "events" in the mapping. {BAGS_INSTEAD}'
    other = 'If each row is a sample, write anchors = "rows" in the mapping. ' if fit.fields.exploded else ""
    return f"{other}{BAGS_INSTEAD}"


def length_sentence(fit: HistoryFit) -> str:
    """Return the sentence on the lengths of histories and their cap."""
    cut = float(fit.lengths[fit.cap] / fit.lengths.sum()) if fit.longest > fit.cap else 0.0
    cap = f"the file's longest has {count(fit.longest, 'event')}"
    if cut:
        cap = f"{percent(cut)} of them are at the cap of {count(fit.cap)}, and {cap}"
    return f"Histories have {figure(fit.mean)} events in the mean, with a spread of {percent(fit.cv)}; {cap}."


def batch_sentence(fit: HistoryFit) -> str:
    """Return the sentence on the samples of a user in a batch."""
    order = "whose samples stand together by user" if fit.is_user_major else "in the file's order"
    return (
        f"A batch of {count(fit.batch, 'consecutive sample')}, {order}, has {exact(fit.samples_per_user)} "
        f"{'sample' if fit.samples_per_user == 1 else 'samples'} of each of its users; the file has {count(fit.users, 'user')}."
    )


def duplicates_sentence(fit: HistoryFit, columns: Sequence[str]) -> str:
    """Return the sentence on different events and rows of a batch: file and fit."""
    rows = "; ".join(
        f"rows of {columns[table]} {figure(100 * file_share)} and {figure(100 * fit_share)}"
        for table, file_share, fit_share in zip(fit.fields.events, fit.counted.rows, fit.expected.rows, strict=True)
    )
    return (
        f"Of 100 lookups of such a batch so many are different, in the file and by the fit: events "
        f"{figure(100 * fit.counted.events)} and {figure(100 * fit.expected.events)}; {rows}."
    )


def history_warnings(fit: HistoryFit, columns: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each reason not to trust a fit of histories."""
    if fit.out_of_order:
        yield (
            f"Times go back within a user at {count(fit.out_of_order, 'event')}; the file's order was taken. "
            "Sort the file by user and time if time is meant."
        )
    if fit.longest > fit.cap and not fit.is_cap_given:
        yield (
            f"Histories are cut at {count(DEFAULT_CAP)} events, as no cap is given; the longest has {count(fit.longest)}. Set "
            "data.history_cap for another cap."
        )
    if fit.empty:
        yield (
            f"The empty history of {count(fit.empty, 'sample')} counts as one event, since a generated history has its candidate "
            "at least."
        )
    if fit.fields.in_rows and fit.fields.user is None:
        yield (
            'No column of users is named, so each row counts all its events anew; write user = "COLUMN" in the mapping if rows '
            "of a user repeat their history."
        )
    elif fit.going_on is not None and fit.going_on < 1:
        yield (
            f"{percent(1 - fit.going_on)} of the later rows of users do not go on by one event; all events of such a row are "
            "counted."
        )
    if fit.cv - fit.length_cv > FAR_LENGTHS * fit.cv:
        yield (
            f"Lengths spread by {percent(fit.cv)}, wider than any cut log-normal law of this mean and cap; the fit has "
            f"{percent(fit.length_cv)}."
        )
    if fit.largest_length_gap > FAR_LENGTHS:
        yield (
            f"Lengths follow another law than a cut log-normal one: the share of histories up to some length is off by "
            f"{figure(100 * fit.largest_length_gap)} points."
        )
    yield from _duplicates_warnings(fit, columns)


def _duplicates_warnings(fit: HistoryFit, columns: Sequence[str]) -> Iterator[str]:
    for table, file_share, fit_share in zip(fit.fields.events, fit.counted.rows, fit.expected.rows, strict=True):
        if abs(fit_share - file_share) <= FAR_DUPLICATES * file_share:
            continue
        too_many = fit_share > file_share
        if abs(fit.expected.events - fit.counted.events) > FAR_DUPLICATES * fit.counted.events:
            cause = (
                "histories of a batch overlap more than windows of equal length"
                if too_many
                else "histories overlap less than such windows"
            )
        else:
            cause = (
                "events of a user or a time repeat ids more than the popularity says"
                if too_many
                else "ids repeat less than the popularity says"
            )
        yield (
            f"A batch has {figure(100 * file_share)} % different rows of {columns[table]}, but {figure(100 * fit_share)} % by "
            f"the fit: {cause}."
        )


def length_rows(fit: HistoryFit) -> list[Row]:
    """Return a row for each range of lengths: shares by file and law."""
    return [
        {"Shortest [events]": low, "Longest [events]": high, "File [%]": 100 * file_share, "Fit [%]": 100 * law_share}
        for low, high, file_share, law_share in fit.length_rows()
    ]


def as_json(fit: HistoryFit, columns: Sequence[str]) -> dict[str, Any]:
    """Return the fit of histories as `workload fit --json` writes it."""
    duplicates = {
        columns[table]: {"file": file_share, "fit": fit_share}
        for table, file_share, fit_share in zip(fit.fields.events, fit.counted.rows, fit.expected.rows, strict=True)
    }
    return {
        "sentences": list(history_sentences(fit, columns)),
        "cap": fit.cap,
        "longest": fit.longest,
        "mean": fit.mean,
        "cv": fit.cv,
        "users": fit.users,
        "batch": fit.batch,
        "samples_per_user": fit.samples_per_user,
        "different_events": {"file": fit.counted.events, "fit": fit.expected.events},
        "unique_rows": duplicates,
        "lengths": length_rows(fit),
        "largest_length_gap": fit.largest_length_gap,
    }
