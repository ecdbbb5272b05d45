"""The command line: `python -m engine` and one of COMMANDS, such as `run` or `sweep`.

The installed command is `emberpool`.
Exit status: 0 done, 2 bad input, 3 the scenario cannot run or a check failed, 130 interrupted, 1 a bug (with its traceback).
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from .commands import output
from .commands.parser import BAD_INPUT, FAILED, INTERRUPTED, Parser
from .core.part_files.use import folder_in_use
from .core.process import TOO_LARGE
from .errors import BadFile, BadInput, CannotRun, NoRoom
from .scenario import presets
from .version import LINK, MODEL, PROGRAM, release

COMMANDS = (
    "list",
    "run",
    "sweep",
    "search",
    "validate",
    "workload",
    "decide",
    "enough",
    "cite",
    "torchrec",
    "campaign",
    "study",
    "crashcheck",
    "bench",
    "measure",
    "verify",
    "serve",
)
MODULES = {"list": "listing"}  # modules of commands whose name differs
VERSION = "--version"


def parser(words: Sequence[str] = ()) -> Parser:
    """Return the parser of the command that the first word names, or of all commands.

    Only the modules of these commands are imported, as importing a module takes up to a second.
    """
    command_line = Parser(prog=PROGRAM, description="Simulate DLRM training on machines with persistent memory behind CXL.")
    versions = f"emberpool {release()}, model {MODEL}, links v{LINK}"
    command_line.add_argument(VERSION, action="version", version=versions, help="the versions of package, model and links")
    commands = command_line.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for command in _possible_commands(words):
        import_module(f"{__package__}.commands.{MODULES.get(command, command)}").add(commands)
    return command_line


def _possible_commands(words: Sequence[str]) -> Sequence[str]:
    """Return the commands that the first word can mean."""
    if words[:1] == [VERSION]:
        return ()
    return words[:1] if set(words[:1]) & set(COMMANDS) else COMMANDS


def main(words: Sequence[str] | None = None) -> int:
    """Run the command that the words state, and return the exit status.

    words: the words after the program's name; None for those of this process. Errors are one line on standard error.
    """
    output.open_streams()
    try:
        words = sys.argv[1:] if words is None else words
        arguments = parser(words).parse_args(words)
        output.check(arguments)
        with folder_in_use(vars(arguments).get("parts_dir")) as folder:
            for sentence in folder.doubts:
                output.note(sentence)
            with presets.folder_in_use(vars(arguments).get("presets_dir")):
                return int(arguments.call(arguments))
    except BadInput as error:
        return _complain(error, BAD_INPUT)
    except (CannotRun, NoRoom) as error:
        return _complain(error, FAILED)
    except MemoryError:
        return _complain(NoRoom(TOO_LARGE), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED


def _complain(error: Exception, status: int) -> int:
    """Print an error's sentence on one line, and its remedy, if any, below.

    Return the status.
    """
    remedy = error.remedy if isinstance(error, BadFile) else ""
    with suppress(OSError):  # the sentence is lost on a full disk; the status is enough
        output.tell("\n".join((" ".join(str(error).removesuffix(remedy).split()), *filter(None, (remedy,)))))
    return status


if __name__ == "__main__":
    sys.exit(main())
