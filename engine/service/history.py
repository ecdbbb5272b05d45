"""The history: all requests of the store, newest first, until a visitor deletes them.

A request keeps its title and its link also when its results were deleted to make room, or are of other code. The results are
computed again when the request is opened.
"""

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .. import version
from ..core.figures import count
from ..errors import BadInput, EmberpoolError
from ..results.csv_table import Section
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import Fidelity
from ..scenario.renamed import todays_knob
from ..scenario.scenario import KNOBS, Scenario, declaration, with_values
from ..store import result_rows
from ..store.database import FAILED, OPEN, check_requests, open_store, transaction
from ..store.quota import shrink
from ..store.requests import User, check_user
from ..sweep import links
from ..sweep.questions import LinkQuestions
from ..sweep.sweep import Sweep
from .stopped_runs import StoppedRunFile

COLUMNS = "id, how, state, total, title, link, note, pinned, created, started, ended, base, code, owner"
COUNT_QUERY = f"""SELECT (SELECT coalesce(max(position) + 1, 0) FROM points WHERE request = ?1),
    (SELECT count(*) FROM points WHERE request = ?1 AND state = {OPEN}),
    (SELECT count(*) FROM points WHERE request = ?1 AND state = {FAILED})"""
REQUEST_IDS = "(SELECT value FROM json_each(?1))"
OWN_KEYS = f"""SELECT DISTINCT key FROM points WHERE request IN {REQUEST_IDS} AND NOT EXISTS
    (SELECT 1 FROM points other WHERE other.key = points.key AND other.request NOT IN {REQUEST_IDS})"""
MAX_TITLE_KNOBS = 3  # knobs that a title names
OWN_PATH = re.compile(r"/[a-z]+\?")
Texts = dict[str, str]


@dataclass(frozen=True)
class PastRequest:
    """One request of the history.

    request: the number of the request.
    fidelity: "estimate" or "full".
    state: the state of the request.
    num_points: the number of its points.
    num_results: the number of its points that have a result now.
    num_failures: the number of its points that have a failure now.
    title: the title of the request.
    note: a sentence on its state, or "".
    pinned: True if its results are never deleted to make room.
    created: the time of the request [s since 1970].
    seconds: the seconds for which the request has been computed; None if it has never started.
    owner: the owner of the request, as in `User`; "" if unknown.
    """

    request: int
    fidelity: Fidelity
    state: str
    num_points: int
    num_results: int
    num_failures: int
    title: str
    note: str
    pinned: bool
    created: float
    seconds: float | None
    owner: str


def past_requests(path: Path, words: str = "", most: int = 100) -> list[PastRequest]:
    """Return at most `most` requests that match all words, newest first.

    A word matches in the title, the link or the state. A word such as #7 matches the number of a request.
    """
    matches: list[PastRequest] = []
    numbers, search_words = request_numbers(words), [word for word in words.lower().split() if not word.startswith("#")]
    with open_store(path) as store:
        check_requests(store)
        store.row_factory = sqlite3.Row
        for row in store.execute(f"SELECT {COLUMNS} FROM requests WHERE state != 'arriving' ORDER BY created DESC"):
            if numbers and row["id"] not in numbers:
                continue
            title = row["title"] or default_title(row["how"], row["total"], *_texts(store, row))
            text = f"{title} {row['link']} {row['state']} {'pinned' * row['pinned']}".lower()
            if all(word in text for word in search_words):
                matches.append(_history_entry(store, row, title))
            if len(matches) == most:
                break
        return _with_distinct_titles(store, matches)


def _with_distinct_titles(store: sqlite3.Connection, matches: list[PastRequest]) -> list[PastRequest]:
    """Return requests with distinct titles: equal ones get their differing knobs, or their number."""
    groups: dict[str, list[PastRequest]] = {}
    for past_request in matches:
        groups.setdefault(past_request.title, []).append(past_request)
    names: dict[int, str] = {}
    for title, group in groups.items():
        if len(group) > 1:
            texts = {past_request.request: _first_texts(store, past_request.request) for past_request in group}
            paths = dict.fromkeys(path for knob_texts in texts.values() for path in knob_texts if path in KNOBS)
            differ = [path for path in paths if len({knob_texts.get(path) for knob_texts in texts.values()}) > 1]
            differences = {request: _differences(knob_texts, differ) for request, knob_texts in texts.items()}
            counts = Counter(differences.values())
            for request, text in differences.items():
                is_unique = bool(text) and counts[text] == 1
                names[request] = ", ".join(filter(None, (title, text))) + f" (#{request})" * (not is_unique)
    return [replace(past_request, title=names.get(past_request.request, past_request.title)) for past_request in matches]


def _first_texts(store: sqlite3.Connection, request: int) -> Texts:
    row = store.execute("SELECT base FROM requests WHERE id = ?", (request,)).fetchone()
    return _texts_of_json(row[0] if row else "")


def _differences(texts: Texts, differ: Sequence[str]) -> str:
    """Return the first few of the knobs that differ, each with its value and unit."""
    phrases = [f"{KNOBS[path].label} {texts.get(path, '')[:40]} {KNOBS[path].unit}".strip() for path in differ[:MAX_TITLE_KNOBS]]
    return ", ".join(phrases)


def request_numbers(words: str) -> set[int]:
    """Return the numbers that a text such as "#7 #12" names."""
    return {int(word[1:]) for word in words.split() if word.startswith("#") and word[1:].isdecimal()}


def _history_entry(store: sqlite3.Connection, row: sqlite3.Row, title: str) -> PastRequest:
    request, started = row["id"], row["started"]
    point_count, open_count, failed = store.execute(COUNT_QUERY, (request,)).fetchone()
    seconds = None if started is None else max(0.0, (row["ended"] or time.time()) - started)
    result_count, failed = (point_count - open_count - failed, failed) if row["code"] == version.CODE else (0, 0)
    counts, state = (row["total"], result_count, failed), row["state"]
    pinned, created, owner = bool(row["pinned"]), row["created"], row["owner"]
    return PastRequest(request, row["how"], state, *counts, title, row["note"], pinned, created, seconds, owner)


def _texts(store: sqlite3.Connection, row: sqlite3.Row) -> tuple[Texts, tuple[str, ...]]:
    """Return the knob texts of a request's first point, and its varied knobs.

    These are the knobs that differ at its last point.
    """
    last_row = store.execute(
        "SELECT changes FROM points WHERE request = ? ORDER BY position DESC LIMIT 1", (row["id"],)
    ).fetchone()
    return _texts_of_json(row["base"]), tuple(_texts_of_json(last_row[0])) if last_row else ()


def default_title(method: Fidelity, total: int, first_texts: Texts, varied: Iterable[str], preset: str = "") -> str:
    """Return the title of a request that has none.

    The title has the method, the number of points, the model, the system and the varied knobs.
    """
    noun = {"full": "full run", "estimate": "estimate"}[method]
    amount_text = count(total, noun) if total > 1 else noun.capitalize()
    subject = preset or first_texts.get("model.name", "an unknown model")
    labels = [KNOBS[path].title for path in varied if path in KNOBS and not path.startswith("model.")]
    system_text = "" if "system" in varied else f" with {first_texts.get('system', 'an unknown system')}"
    return f"{amount_text} of {subject}{system_text}" + (f" over {', '.join(labels)}" if labels else "")


def link(path: Path, request: int) -> str:
    """Return the link that opens a request again.

    The link is the request's own, or that of its first point. Return "" if its knobs are of another version. A store may come
    from another person, so a text that is no path of this explorer, such as @host/, is not returned.
    """
    with open_store(path) as store:
        store.row_factory = sqlite3.Row
        row = store.execute(f"SELECT {COLUMNS} FROM requests WHERE id = ?", (request,)).fetchone()
        if row is None or row["link"]:
            return str(row["link"]) if row and OWN_PATH.match(str(row["link"])) else ""
        try:
            texts = {path: knobs.parse(declaration(path), text) for path, text in _texts(store, row)[0].items()}
            return links.link(with_values(Scenario(), texts))
        except EmberpoolError:
            return ""


def reopening(points: Sequence[Scenario]) -> str:
    """Return the link that opens a sweep on its page.

    Return "" for points that are no sweep along axes, or if the link would be too long.
    """
    if not isinstance(points, Sweep) or (points.settings and any(axis.path == "model.name" for axis in points.axes)):
        return ""  # settings come after a swept model, a link's knobs before it
    sample = LinkQuestions("" if str(points.sampling) == "grid" else str(points.sampling))
    base = with_values(points.base, dict(points.settings))
    sweep_link = links.link(base, page="search", axes=map(str, points.axes), questions=sample)
    return sweep_link if len(sweep_link) <= links.MOST_CHARACTERS else ""


def varied_texts(path: Path, request: int) -> dict[str, list[str]]:
    """Return {knob path: its text at each point} for the knobs that a request varies.

    A damaged point gets the texts of the first point.
    """
    with open_store(path) as store:
        base = store.execute("SELECT base FROM requests WHERE id = ?", (request,)).fetchone()
        rows = store.execute("SELECT changes FROM points WHERE request = ? ORDER BY position", (request,)).fetchall()
    first_texts, changes_by_point = _texts_of_json(base[0] if base else ""), [_texts_of_json(changes) for (changes,) in rows]
    varied = dict.fromkeys(path for changes in changes_by_point for path in changes)
    return {path: [changes.get(path, first_texts.get(path, "")) for changes in changes_by_point] for path in varied}


def first_point_texts(path: Path, request: int) -> Texts:
    """Return {knob path: text} for all knobs of a request's first point."""
    with open_store(path) as store:
        return _first_texts(store, request)


def _texts_of_json(text: object) -> Texts:
    """Return knob texts from the store's JSON.

    Empty where damaged, so that the rest can still be shown.
    """
    try:
        stored_texts = result_rows.knob_texts(str(text))
        systems = (stored_texts["system"],) if "system" in stored_texts else ()
        return dict(todays_knob(path, setting_text, systems) for path, setting_text in stored_texts.items())
    except (ValueError, AttributeError, TypeError, BadInput):
        return {}


def table_rows(path: Path, requests: Sequence[int]) -> Iterator[tuple[Section, ...]]:
    """Yield the undamaged results of requests as rows of the CSV table.

    They come in the order of the requests and of their points.
    """
    reader = result_rows.TableReader()
    return (reader.row(name, text) for request in requests for name, text in _result_texts(path, request))


def result_lines(path: Path, request: int) -> Iterator[str]:
    """Yield each undamaged result of a request as one line of JSON."""
    return (f"{result_rows.complete_text(text)}\n" for _, text in _result_texts(path, request))


def results(path: Path, request: int) -> Iterator[Result]:
    """Yield each undamaged result of a request, in the order of its points."""
    return (result_rows.result_of(text) for _, text in _result_texts(path, request))


def _result_texts(path: Path, request: int) -> Iterator[tuple[str, str]]:
    """Yield key and text of each undamaged result of a request, in the order of its points."""
    query = """SELECT r.key, r.result, r.checksum FROM points p JOIN results r ON r.key = p.key
        WHERE p.request = ? AND r.code = ? ORDER BY p.position"""
    with open_store(path) as store:
        for name, text, checksum in store.execute(query, (request, version.CODE)):
            if result_rows.is_as_written(name, text, checksum):
                yield name, text


def pin(path: Path, requests: Sequence[int], pinned: bool, user: User) -> None:
    """Pin requests, so that their results are never deleted to make room, or unpin them.

    Raises BadInput for unknown requests, and OthersRequest.
    """
    with open_store(path) as store, transaction(store):
        _check_known(store, path, requests)
        check_user(store, requests, user)
        store.execute(f"UPDATE requests SET pinned = ?2 WHERE id IN {REQUEST_IDS}", (json.dumps(requests), pinned))


def freed_results(path: Path, requests: Sequence[int]) -> int:
    """Return the number of results that no request except these has.

    The function `delete` would remove these results.
    """
    with open_store(path) as store:
        query = f"SELECT count(*) FROM results WHERE key IN ({OWN_KEYS})"
        return int(store.execute(query, (json.dumps(requests),)).fetchone()[0])


def delete(path: Path, requests: Sequence[int], user: User) -> None:
    """Delete requests, with the results, failures and trainings that no other request has.

    Points that are computed only for these requests stop. Raises BadInput for unknown requests, and OthersRequest.
    """
    ids = (json.dumps(requests),)
    with open_store(path) as store:
        with transaction(store):
            _check_known(store, path, requests)
            check_user(store, requests, user)
            store.execute(f"CREATE TEMP TABLE going AS {OWN_KEYS}", ids)
            classes = f"SELECT DISTINCT class FROM points WHERE class IS NOT NULL AND request IN {REQUEST_IDS}"
            class_rows = store.execute(classes, ids).fetchall()
            own_keys = store.execute("SELECT key FROM going").fetchall()
            store.execute(f"DELETE FROM points WHERE request IN {REQUEST_IDS}", ids)
            store.execute(f"DELETE FROM requests WHERE id IN {REQUEST_IDS}", ids)
            for table, condition in (("results", ""), ("failures", ""), ("progress", ""), ("claims", " AND ending IS NOT NULL")):
                store.execute(f"DELETE FROM {table} WHERE key IN (SELECT key FROM going){condition}")
            unused = "DELETE FROM trainings WHERE class = ?1 AND NOT EXISTS (SELECT 1 FROM points WHERE class = ?1)"
            store.executemany(unused, class_rows)
            store.execute("DROP TABLE going")
        for (key,) in own_keys:
            StoppedRunFile(path, key).remove()
        shrink(store)


def _check_known(store: sqlite3.Connection, path: Path, requests: Sequence[int]) -> None:
    for request in requests:
        if not store.execute("SELECT 1 FROM requests WHERE id = ?", (request,)).fetchone():
            raise BadInput(f"request={request} is not in {path}; someone may have deleted it: reload the history.")
