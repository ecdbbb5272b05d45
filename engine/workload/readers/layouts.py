"""Layouts of published tables of clicks: which columns are the label, the dense features, the ids, and the time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from .numbering import WHERE_THEY_FIT

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {">=": ge, "<=": le, "!=": ne, "==": eq, ">": gt, "<": lt}


@dataclass(frozen=True)
class Layout:
    """One format of rows and columns: `columns` are those of a text without a header, `delimiter` what parts them.

    A sample is a click where column `label` stands in relation `rule` to `value`: a number, or for == and != also a text; it
    must be 0 or 1 where there is no rule. Rows are trained in the order of column `time`; without one as they stand. Rows
    whose column `where[0]` is not one of the texts that follow, or that have no label, are left out. `rows` says how ids
    become rows; a cell holds an id, or several between `lists`. A label that is a text is one of `known`, where these are. Ids
    are hexadecimal, of at most `longest_id` digits, where that is not 0. `quotes` says what quotation marks in a text are
    (records.py), `time_format` how times are written (times.py). Without a `label` there are lookups alone, to be fitted.
    """

    name: str
    label: str
    ids: tuple[str, ...]
    dense: tuple[str, ...] = ()
    rule: str = ""
    value: float | str = 1.0
    time: str = ""
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    rows: str = WHERE_THEY_FIT
    where: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    lists: str = ""
    longest_id: int = 0
    quotes: str = ""
    time_format: str = ""

    @property
    def numbers_alone(self) -> tuple[str, ...]:
        """The dense features that are nothing else: of any other column each letter counts."""
        others = {self.label, self.time, *self.ids, *self.where[:1]}
        return tuple(column for column in self.dense if column not in others)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys(filter(None, (self.label, *self.dense, *self.ids, self.time, *self.where[:1]))))

    @property
    def order(self) -> str:
        """In which order samples are trained."""
        return f"by {self.time}, as files of this format may be sorted by user" if self.time else "the file's own order"


AVAZU = Layout(
    "avazu",
    "click",
    ("C1", "banner_pos", "site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category", "device_id",
     "device_ip", "device_model", "device_type", "device_conn_type"),
    tuple(f"C{n}" for n in range(14, 22)),
)  # fmt: skip
EVENTS, USER_BEHAVIOR = ("pv", "cart", "fav", "buy"), ("user", "item", "category", "behaviour", "timestamp")
TAOBAO = Layout(
    "taobao", "behaviour", USER_BEHAVIOR[:3], rule="!=", value="pv", time="timestamp", columns=USER_BEHAVIOR, known=EVENTS
)
TAOBAO_ADS = Layout("taobao-ads", "clk", ("user", "adgroup_id", "pid"), time="time_stamp")
MOVIELENS = Layout("movielens", "rating", ("userId", "movieId"), rule=">=", value=4.0, time="timestamp")
YAMBDA = Layout("yambda", "played_ratio_pct", ("uid", "item_id", "is_organic"), rule=">=", value=50.0, time="timestamp")
TEXTS = (AVAZU, TAOBAO, TAOBAO_ADS, MOVIELENS)
