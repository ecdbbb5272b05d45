"""One thread for linear algebra: results do not depend on the number of cores, and design points share them fairly."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit every BLAS and OpenMP pool of this process to one thread while the block runs."""
    with threadpool_limits(limits=1):
        yield
