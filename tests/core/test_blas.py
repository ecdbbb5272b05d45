"""Can kernels do without SciPy's linear algebra, and does whoever needs it still get it?"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT

SPARED = """
from engine.core.process import without_scipy; without_scipy()
import sys, numba
@numba.njit
def double(x): return 2 * x.sum()
import numpy as np
assert double(np.ones(3)) == 6 and "scipy.linalg" not in sys.modules
import scipy.linalg
without_scipy()
assert scipy.linalg.det(np.eye(2)) == 1 and sys.modules["scipy.linalg"]
"""


KINDS = {"entry", "by_zero", "inner"}


def kernels() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted((Path(ROOT) / "engine").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text if "jit import" in text else "")):
            if isinstance(node, ast.FunctionDef) and {ast.unparse(one) for one in node.decorator_list} & KINDS:
                yield f"{path.name}: {node.name}", node


def test_no_kernel_multiplies_matrices() -> None:
    found = dict(kernels())
    products = [
        name
        for name, kernel in found.items()
        for node in ast.walk(kernel)
        if isinstance(node, ast.MatMult) or (isinstance(node, ast.Attribute) and node.attr in ("dot", "vdot", "matmul", "linalg"))
    ]
    assert len(found) > 50 and products == []


@pytest.mark.slow
def test_the_first_kernel_loads_no_linear_algebra_which_can_be_imported_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", SPARED], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
