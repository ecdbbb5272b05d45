"""Memory of the fullest GPU during a batch, by kind."""

from collections.abc import Mapping

from ...core.arithmetic import total
from ...core.figures import figure, percent
from ...scenario.scenario import Scenario, per_table
from ...schedule.machine import settle
from ...systems.exchange.buffers import vector_buffers
from ...systems.exchange.fullest import fullest_gpu
from ...systems.row_kinds import kind_bytes, row_bytes
from ...systems.steps.stashing import beside_tables_bytes, stashed_bytes
from ...systems.traffic import activation_bytes, hottest_bytes, mlp_bytes, mlp_gradient_bytes, num_rows
from ...units import GB

LAYERS = "layers and their gradients"
STASHED = {"off": (), "state": ("optimizer state",), "weights": ("rows",), "both": ("rows", "optimizer state")}


def gpu_memory(scenario: Scenario) -> Mapping[str, float]:
    """Return the bytes of the fullest GPU by kind; {} for a scenario without a GPU.

    Rows, their state and the vectors to send are those of the fullest GPU; all else is the mean over GPUs.
    Vectors, with their gradients, are those that layers read, those that arrive, and those of histories that go to other GPUs.
    With a stash, the kinds are those of the batch's fuller moment: lookup and update, or the dense layers.
    """
    settled = settle(scenario)
    s = settled.scenario
    if "gpu" not in settled.system.devices:
        return {}
    rows = per_table(s.model, "num_embeddings")
    state_share = float(kind_bytes(s, "state_and_checksum") @ rows) / (num_rows(s) * row_bytes(s))
    _, tables, sent = fullest_gpu(s, settled.system, settled.placement.balance)
    tables += hottest_bytes(s, settled.placement.replicas.rows)
    gradients, vectors = mlp_gradient_bytes(s), total(vector_buffers(s)[:2])
    kinds = {
        "rows": (1 - state_share) * tables,
        "optimizer state": state_share * tables,
        LAYERS: 2 * mlp_bytes(s) + gradients,
        "activations": activation_bytes(s) - vectors - gradients,
        "vectors": vectors + sent,
    }
    without_stash = kinds | dict.fromkeys(STASHED[s.policy.stashing], 0.0)
    if not stashed_bytes(s):
        return kinds
    at_update = kinds | {LAYERS: 2 * mlp_bytes(s), "activations": 0.0, "vectors": beside_tables_bytes(s) + sent}
    return max(at_update, without_stash, key=lambda moment: total(moment.values()))


def gpu_memory_finding(kinds: Mapping[str, float], capacity: float) -> str:
    """Return a finding on the fullest GPU's bytes by kind beside its capacity [B]."""
    held, largest = total(kinds.values()), max(kinds, key=lambda kind: kinds[kind])
    most = f"{percent(kinds[largest] / held)} of it {largest}"
    if held > capacity:
        return f"A batch needs {figure(held / GB, 'GB')} of a GPU that has {figure(capacity / GB, 'GB')}, {most}"
    return f"The fullest GPU holds {figure(held / GB, 'GB')} of its {figure(capacity / GB, 'GB')} during a batch, {most}"
