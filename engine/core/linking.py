# mypy: disallow-untyped-calls=False
"""What numba does with a kernel: an inner one is only linked into those that call it, and options are compared by identity.

Numba optimises every kernel in full and makes machine code of it; for those that Python never calls all of that is lost, as
whoever calls them is optimised as a whole anyway. And each expression that it types looks overloads up by the options of the
kernel, two dozen getters each time. Both together are almost half of the time to compile. Passes that find nothing to do in
kernels, such as those for closures, are left out, named tuples are handed over whole, and what is found out once is not found
out again; that is a third of what was left. This builds on what numba 0.68, which the requirements pin, has inside;
results are those of the same code, optimised once.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.datamodel.models import TupleModel
from numba.core.datamodel.registry import default_manager
from numba.core.postproc import PostProcessor

# Without closures, contexts, literals to unroll and overloads that are inlined; branches on arguments that are None are pruned.
PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


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


class Defined(JITCodeLibrary):
    """The code of a kernel: of the functions that it names, those that it defines are optimised, with the same passes."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class Linked(Defined):
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


class Shared(Linked):
    """The code of a kernel that stays a function of its own in those that it is linked with."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.add_function_attribute("noinline")


class ByValue(TupleModel):
    """A tuple that a kernel hands to another as one value: number by number, hundreds of them, was a third of all code."""

    def get_argument_type(self) -> Any:
        """Return the type of the tuple."""
        return self.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the tuple."""
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Return the tuple."""
        return value


def _ours(module: str) -> bool:
    """Return whether a module is the engine's, by either name; kernels and tuples of others stay as numba has them."""
    return module.removeprefix("emberpool.").partition(".")[0] == "engine"


def _model(models: Any, kind: Any) -> TupleModel:
    """Return how a tuple of a type is handed over."""
    return (ByValue if _ours(kind.instance_class.__module__) else TupleModel)(models, kind)


default_manager.register(types.NamedTuple, _model)


def _remembered(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Return what finds out once what a builtin function makes of types: numba asks wherever one is named, and again later."""
    known: dict[Any, Any] = {}

    def get_call_type(function: Any, context: Any, args: Any, named: Any) -> Any:
        key = function, args, tuple(named.items())
        if key not in known:
            known[key] = resolve(function, context, args, named)
        return known[key]

    return get_call_type


def _at_last(run: Callable[..., None]) -> Callable[..., None]:
    """Return what finds how long a kernel's variables live before code is made of them, and not after each pass as well."""

    def once(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        if emit_dels or not _ours(processor.func_ir.func_id.modname):
            run(processor, emit_dels, extend_lifetimes)

    return once


types.Function.get_call_type = _remembered(types.Function.get_call_type)  # type: ignore[method-assign]
PostProcessor.run = _at_last(PostProcessor.run)  # type: ignore[method-assign]


class EntryCompiler(CompilerBase):
    """Compiles what Python calls."""

    code: ClassVar[type[JITCodeLibrary]] = Defined

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, returns: Any, flags: Flags, known: Any) -> None:
        if library is None:
            library = self.code(target.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typing, target, library, args, returns, Fixed.of(flags), known)

    def define_pipelines(self) -> list[PassManager]:
        """Return one pipeline."""
        passes = PassManager("kernel")
        for one in PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


class InnerCompiler(EntryCompiler):
    """Compiles what only other kernels call."""

    code = Linked


class SharedCompiler(EntryCompiler):
    """Compiles what several kernels call, or one seldom does."""

    code = Shared
