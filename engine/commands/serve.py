"""`serve`: compute the requests in a store until none is waiting.

The explorer starts this command by itself.
"""

import argparse
from functools import partial

from ..core.figures import exact
from ..service.service import IDLE_EXIT_SECONDS, serve
from ..store import quota, restoration
from ..store.quota import DEFAULT_GiB
from . import output
from .parser import FAILED, Subparsers, add_store, amount


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("serve", help="compute what the explorer and sweeps ask for")
    add_store(parser)
    seconds = partial(amount, noun="seconds", minimum=0.0, maximum=1e9)
    gibibytes = partial(amount, noun="GiB", minimum=0.001, maximum=1e6)
    parser.add_argument(
        "--idle-exit", type=seconds, default=IDLE_EXIT_SECONDS, metavar="SECONDS", help="leave when idle for so long"
    )
    parser.add_argument(
        "--quota-GiB",
        type=gibibytes,
        metavar="GiB",
        help=f"let the store use so much, now and later (at first {exact(DEFAULT_GiB)})",
    )
    parser.add_argument(
        "--restore",
        "--salvage",
        action="store_true",
        help="only set a damaged store aside, and keep what can still be read; ends with 3 then",
    )
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Serve until no request waits, or restore a store; return the exit status.

    Return 3 where results were lost.
    """
    restored = restoration.restore(arguments.store) if arguments.restore else None
    if arguments.quota_GiB is not None:
        quota.set_quota(arguments.store, arguments.quota_GiB)
    if restored:
        output.tell(restored.text)
        return 0 if restored.was_sound else FAILED
    serve(arguments.store, arguments.jobs, arguments.idle_exit, cluster=arguments.cluster)
    return 0
