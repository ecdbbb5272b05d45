"""Is every label of every chart whole, inside its picture and apart from the others, wide and narrow, small and large?"""

import pytest

pytestmark = pytest.mark.slow
WIDTHS = (1440, 820, 420)
SWEEP = "axis=machine.cxl_bandwidth_GBps:8,16,32,64&axis=system:pmem,dram,cxl-d,cxl-b,cxl"
LONG = "model.name=a-model-of-recommendations-whose-name-is-too-long-to-say&system=cxl-b&against=terarec"
HUGE = "preset=dlrm-terabyte&model.num_tables=200&model.num_embeddings=200000000&model.embedding_dim=128"  # 20 TB
VIEWS = ("heat-map", "lines", "pareto", "parallel", "what-matters")
# The pages of a scenario, from small to large; "+" before a page opens every section of it.
SCENARIOS = {
    "a tiny model": (
        "start?preset=tiny",
        "+design?preset=tiny",
        "data?preset=tiny",
        "failures?preset=tiny",
        "decide?preset=tiny",
    ),
    "a click log's model": tuple(f"{page}?preset=dlrm-kaggle" for page in ("design", "data", "decide")),
    "a paper's model": ("+design?preset=trainingcxl-rm1", "data?preset=trainingcxl-rm1"),
    "all papers": ("evidence",),
    "many nodes": ("+design?preset=meta-856", "decide?preset=meta-856", "data?preset=meta-856"),
    "drives": tuple(f"{page}?preset=mtrains-capacity" for page in ("design", "decide", "failures")),
    "systems that do not fit": (
        "design?preset=dlrm-terabyte&system=all-hbm&machine.num_gpus=1",
        "decide?preset=dlrm-terabyte&require=budget=1000",
    ),
    "a sweep of two axes": tuple(f"search?preset=tiny&{SWEEP}&view={view}" for view in VIEWS),
    "a campaign": ("failures?preset=dlrm-kaggle&faults.machines=64&policy.checkpoint_every=500",),
    "a model of 20 TB": tuple(f"{page}?{HUGE}" for page in ("design", "data", "decide", "failures")),
}
