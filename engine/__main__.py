"""The headless command: `python -m engine list|run|sweep|search|validate|workload|campaign|study|crashcheck|bench|serve`.

Exit status: 0 done, 2 bad input, 3 the scenario cannot run or a check failed, 130 interrupted, 1 a bug (with its traceback).
"""

import sys
from collections.abc import Sequence

from engine.commands import bench, campaign, crashcheck, listing, run, search, serve, study, sweep, validate, workload
from engine.commands.parser import Parser
from engine.errors import BadInput, CannotRun

COMMANDS = (listing, run, sweep, search, validate, workload, campaign, study, crashcheck, bench, serve)
BAD_INPUT, CANNOT_RUN, INTERRUPTED = 2, 3, 130


def parser() -> Parser:
    """Return the grammar of the whole command line."""
    whole = Parser(prog="python -m engine", description="Simulate DLRM training on machines with persistent memory behind CXL.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    return whole


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words ask for and return the exit status; complaints are one line on standard error."""
    try:
        arguments = parser().parse_args(words)
        return int(arguments.call(arguments))
    except BadInput as error:
        return _complain(error, BAD_INPUT)
    except CannotRun as error:
        return _complain(error, CANNOT_RUN)
    except KeyboardInterrupt:
        return INTERRUPTED


def _complain(error: Exception, status: int) -> int:
    print(" ".join(str(error).split()), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
