"""The layouts of published click logs.

A layout names the columns of the label, of dense features, of ids, and of the time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from .numbering import WHERE_THEY_FIT

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {">=": ge, "<=": le, "!=": ne, "==": eq, ">": gt, "<": lt}
ANCHORS = ("events", "rows")  # what a sample of a file of histories is


@dataclass(frozen=True)
class Layout:
    """The meaning of a table's columns.

    name: the name of the format.
    label: the column of the label; "" for a file with lookups only, to which the generator can be fitted.
    ids: the columns of ids; each has a table.
    dense: the columns of dense features.
    rule, label_value: a sample is a click if `label` has the relation `rule` to `label_value`, a number, or for == and != also a
        text; without a rule the label is 0 or 1.
    time: the column by which rows are sorted; "" for the order of the file.
    columns: the names of all columns, for a text without a header.
    delimiter: the character between the cells of a text.
    rows: the way in which ids become rows; see `numbering`.
    row_filter: a column and texts; rows with another text in this column, or without a label, are left out.
    known_labels: the texts that a label can be, if they are known.
    lists: the separator between several ids in one cell.
    longest_id: the most hexadecimal digits of an id; 0 for ids of any kind.
    quotes: the meaning of quotation marks in a text; see `records`.
    time_format: the format in which times are written; see `times`.
    user: the column of ids whose events make a history; "" where histories are not stated.
    history: the columns of ids that a history's events have.
    anchors: "events" if a row has lists of a user's events, each of which is a sample; "rows" if a row is a sample; "" to
        conclude it from the type of the time's column.
    keeps_order: True to keep the file's order and the times, in place of sorting by time.
    """

    name: str
    label: str
    ids: tuple[str, ...]
    dense: tuple[str, ...] = ()
    rule: str = ""
    label_value: float | str = 1.0
    time: str = ""
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    rows: str = WHERE_THEY_FIT
    row_filter: tuple[str, ...] = ()
    known_labels: tuple[str, ...] = ()
    lists: str = ""
    longest_id: int = 0
    quotes: str = ""
    time_format: str = ""
    user: str = ""
    history: tuple[str, ...] = ()
    anchors: str = ""
    keeps_order: bool = False

    @property
    def numbers_alone(self) -> tuple[str, ...]:
        """The columns of dense features that do not filter rows.

        In all other columns each character counts.
        """
        return tuple(column for column in self.dense if column not in self.row_filter[:1])

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each role.

        Columns of the user and of events are among the ids.
        """
        return {"label": (self.label,), "time": (self.time,), "ids": self.ids, "dense": self.dense}

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns that have a role, so that they are read."""
        return tuple(dict.fromkeys(filter(None, (self.label, *self.dense, *self.ids, self.time, *self.row_filter[:1]))))

    @property
    def order(self) -> str:
        """A text on the order in which samples are trained."""
        if not self.time or self.keeps_order:
            return "the file's own order"
        return f"by {self.time}, as files of this format may be sorted by user"


AVAZU = Layout(
    "avazu",
    "click",
    ("C1", "banner_pos", "site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category", "device_id",
     "device_ip", "device_model", "device_type", "device_conn_type"),
    tuple(f"C{n}" for n in range(14, 22)),
)  # fmt: skip
EVENTS, USER_BEHAVIOR = ("pv", "cart", "fav", "buy"), ("user", "item", "category", "behaviour", "timestamp")
TAOBAO = Layout(
    "taobao",
    "behaviour",
    USER_BEHAVIOR[:3],
    rule="!=",
    label_value="pv",
    time="timestamp",
    columns=USER_BEHAVIOR,
    known_labels=EVENTS,
    user="user",
    history=("item", "category"),
)
TAOBAO_ADS = Layout("taobao-ads", "clk", ("user", "adgroup_id", "pid"), time="time_stamp")
MOVIELENS = Layout("movielens", "rating", ("userId", "movieId"), rule=">=", label_value=4.0, time="timestamp")
YAMBDA = Layout(
    "yambda",
    "played_ratio_pct",
    ("uid", "item_id", "is_organic"),
    rule=">=",
    label_value=50.0,
    time="timestamp",
    user="uid",
    history=("item_id",),
)
KUAIRAND = Layout("kuairand", "is_click", ("user_id", "video_id"), time="time_ms", user="user_id", history=("video_id",))
TEXTS = (AVAZU, TAOBAO, TAOBAO_ADS, MOVIELENS, KUAIRAND)
