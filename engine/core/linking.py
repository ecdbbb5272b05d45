# mypy: disallow-untyped-calls=False
"""What numba does with a kernel: an inner one is only linked into those that call it, and options are compared by identity.

Numba optimises every kernel in full and makes machine code of it; for those that Python never calls all of that is lost, as
whoever calls them is optimised as a whole anyway. And each expression that it types looks overloads up by the options of the
kernel, two dozen getters each time. Both together are almost half of the time to compile. This builds on what numba 0.68, which
the requirements pin, has inside; results are those of the same code, optimised once.
"""

from typing import Any, ClassVar

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags


class Fixed(Flags):
    """Options that no longer change: there is one object of each, so two are equal if they are the same."""

    known: ClassVar[dict[str, "Fixed"]] = {}

    @classmethod
    def of(cls, flags: Flags) -> "Fixed":
        """Return the one that says the same."""
        return cls.known.setdefault(flags.summary(), cls(flags))

    def copy(self) -> "Fixed":
        """Return itself."""
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Linked(JITCodeLibrary):
    """The code of a kernel that only others are linked with: inlined and put in order, neither optimised nor made to run."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(opt=0, loop_vectorize=False, slp_vectorize=False, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is none."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "Linked":
        """Where numba leaves the environment of what runs."""
        return self

    def set_env(self, name: str, env: object) -> None:
        """Forget it: nothing runs."""


class EntryCompiler(Compiler):
    """Compiles what Python calls."""

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, returns: Any, flags: Flags, known: Any) -> None:
        super().__init__(typing, target, library, args, returns, Fixed.of(flags), known)


class InnerCompiler(EntryCompiler):
    """Compiles what only other kernels call."""

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, returns: Any, flags: Flags, known: Any) -> None:
        library = Linked(target.codegen(), "inner") if library is None else library
        super().__init__(typing, target, library, args, returns, flags, known)
