"""Bills: the parts of a machine that cost money, with their prices.

A machine's price is the sum of its bill. What is owned already is on the bill and costs nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...core.arithmetic import total
from ...core.constants import Constant


@dataclass(frozen=True, slots=True)
class BillItem:
    """Equal parts of a machine that are paid for.

    kind, part: kind of the catalogue and name of the part.
    count: number of parts.
    price: price of a unit of the part's file, such as a GPU or a GB; None if no price is known.
    units: units of the file in one part, such as the GB of a module.
    key: key of the price in the part's file.
    size: size of one part, as text.
    owned: number of parts that are owned already.
    spare: number of parts that do no work, as they are sold only with others.
    """

    kind: str
    part: str
    count: float
    price: Constant | None
    units: float = 1.0
    key: str = "price"
    size: str = ""
    owned: float = 0.0
    spare: float = 0.0

    @property
    def bought(self) -> float:
        """The number of parts that are bought."""
        return self.count - self.owned

    @property
    def each(self) -> float | None:
        """The USD of one part; None if no price is known."""
        return None if self.price is None else self.units * self.price.value

    @property
    def usd(self) -> float | None:
        """The USD of the parts that are bought; None without their price."""
        if not self.bought:
            return 0.0
        return None if self.each is None else self.bought * self.each


def bill_price(items: Iterable[BillItem]) -> float | None:
    """Return the USD of a bill; None without the price of a bought part."""
    costs = [item.usd for item in items]
    return None if None in costs else float(total(cost or 0.0 for cost in costs))
