"""Published tables that cannot be read without a mapping or a conversion.

The tables are recognised by their columns; the refusal says how to read such a table.
"""

import re
from collections.abc import Mapping

from ...errors import BadFile
from . import conversions as ways
from .conversions import Conversion
from .foreign import foreign_refusal
from .sniffing import FirstRows

WATCHED = {"user_id", "video_id", "watch_ratio"}
SIDE_TABLES: Mapping[str, set[str]] = {
    "users": {"user_id", "user_active_degree"},
    "videos": {"video_id", "author_id", "video_type"},
    "categories": {"video_id", "feat"},
}
RATINGS = """label = "rating >= 4"
ids = ["user", "item"]
time = "timestamp"
columns = ["user", "item", "rating", "timestamp"]
delimiter = "\\t"
"""
USER, NEWS, IMPRESSIONS = re.compile(r"U\d+"), re.compile(r"N\d+"), re.compile(r"(N\d+-[01] ?)+")


def check_published(name: str, rows: FirstRows, packed: bool) -> None:
    """Raise BadFile for a published table that needs a mapping or a conversion."""
    if set(rows.header) >= WATCHED:
        raise _kuairec(name, rows)
    for subject, columns in SIDE_TABLES.items():
        if columns <= set(rows.header):
            raise foreign_refusal(name, f"KuaiRec's table of {subject}, which has no clicks", Conversion("give big_matrix.csv"))
    if re.fullmatch(r"\d+:", "".join(rows.header)) and rows.delimiter == "," and rows.width == 3:
        raise foreign_refusal(name, "the Netflix Prize's ratings", ways.GUNZIP if packed else ways.NETFLIX)
    if rows.delimiter == "\t" and not rows.header and rows.rows:
        _check_mind(name, rows, packed)
        if rows.width == 4 and all(map(_is_rating, rows.rows)):
            raise mapping_refusal(name, "MovieLens' u.data", RATINGS)


def mapping_refusal(name: str, kind: str, mapping: str) -> BadFile:
    """Return the refusal of a published table, with the mapping that describes it."""
    return BadFile(f"{name} looks like {kind}; save these lines as {name}.toml:", remedy=mapping)


def _kuairec(name: str, rows: FirstRows) -> BadFile:
    """Return the refusal of KuaiRec's log, with its mapping.

    small_matrix.csv lacks the times of some rows, and cannot be sorted by time.
    """
    has_times = "timestamp" in rows.header and "small_matrix" not in name and all(map(all, rows.rows))
    lines = ['label = "watch_ratio >= 1"  # watched to the end; the paper takes >= 2', 'ids = ["user_id", "video_id"]']
    lines += ['dense = ["video_duration"]'] if "video_duration" in rows.header else []
    lines += ['time = "timestamp"'] if has_times else []
    return mapping_refusal(name, "KuaiRec's log of watched videos", "\n".join(lines))


def _check_mind(name: str, rows: FirstRows, packed: bool) -> None:
    """Raise BadFile for a table of MIND, Microsoft's news.

    A row of behaviors.tsv is an impression of articles.
    """
    first_row = rows.rows[0]
    if rows.width == 5 and all(USER.fullmatch(row[1]) for row in rows.rows):
        if IMPRESSIONS.fullmatch(first_row[4]):
            raise foreign_refusal(name, "MIND's behaviors.tsv", ways.GUNZIP if packed else ways.MIND)
        if NEWS.match(first_row[4]):
            raise foreign_refusal(
                name, "MIND's behaviors.tsv of its test set, without clicks", Conversion("give that of train or dev")
            )
    if rows.width in (7, 8) and all(NEWS.fullmatch(row[0]) for row in rows.rows):
        raise foreign_refusal(name, "MIND's news.tsv, articles without clicks", Conversion("give behaviors.tsv"))


def _is_rating(row: tuple[str, ...]) -> bool:
    user, movie, rating, time = row
    return user.isdigit() and movie.isdigit() and rating in "12345" and len(rating) == 1 and time.isdigit() and len(time) > 8
