"""Links drawn by seed: valid ones, and hostile ones of values at and beyond the ends of what a knob or a question takes."""

from collections.abc import Sequence
from random import Random
from urllib.parse import quote

from engine.registry import variant_names
from engine.scenario.knobs import SEPARATOR, Knob
from engine.scenario.presets import preset_names
from engine.scenario.scenario import KNOBS

GARBAGE = (
    "",
    "inf",
    "-inf",
    "nan",
    "1e308",
    "1e-308",
    "-1",
    "0x10",
    "٣",
    "1" + "0" * 400,
    "1e999",
    "a" * 5000,
    "-",
    ";",
    "1;;2",
    "%00",
    "\ufffd",
)
PLACES = ("design", "search", "failures", "data")
PARAMETERS = ("sample", "pareto", "pins", "against", "within", "mode", "view", "metric", "find", "crash", "v", "model", "preset")


def valid(rng: Random) -> tuple[str, str]:
    """Return a place and the parameters of a link that is a small variation of a preset."""
    pairs = [("preset", rng.choice(preset_names()))]
    pairs += [(path, _usual(rng, KNOBS[path])) for path in rng.sample(USUAL, rng.randint(0, 4))]
    place = rng.choice(PLACES)
    if place == "search":
        pairs += [("axis", f"{path}:{_usual_axis(rng, KNOBS[path])}") for path in rng.sample(AXES, rng.randint(1, 3))]
    return place, _query(pairs)


def hostile(rng: Random) -> tuple[str, str]:
    """Return a place and the parameters of a link that asks for too much, or for what does not exist."""
    pairs = [("preset", rng.choice(preset_names()))] * rng.randint(0, 1)
    pairs += [(path, _extreme(rng, KNOBS[path])) for path in rng.sample(tuple(KNOBS), rng.choice((0, 0, 0, 1, 2, 3, 12)))]
    pairs += rng.choice(ATTACKS)(rng)
    if rng.random() < 0.1:
        pairs.append((rng.choice((*PARAMETERS, *KNOBS)), rng.choice(GARBAGE)))
    place = rng.choice(PLACES)
    if place == "search" or rng.random() < 0.1:
        pairs += _axes(rng)
    if rng.random() < 0.7:
        pairs = list(dict(reversed([pair for pair in pairs if pair[0] != "axis"])).items()) + [
            pair for pair in pairs if pair[0] == "axis"
        ]
    text = _query(pairs)
    if rng.random() < 0.03:
        position = rng.randrange(len(text) + 1)
        text = text[:position] + rng.choice(("%", "%zz", "%00", "%ff", "&&", "=", "+", "#", ";")) + text[position:]
    return place, text[:9000]


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name)}={quote(text, safe='.;:,-')}" for name, text in pairs)


USUAL = tuple(
    path
    for path, knob in KNOBS.items()
    if knob.kind in ("float", "int", "choice", "switch") and knob.acts == "always" and path != "machine.target_throughput"
)
AXES = tuple(path for path in USUAL if path not in ("model.embedding_dim", "model.num_tables", "model.name"))


def _usual(rng: Random, knob: Knob) -> str:
    if knob.kind == "choice":
        return rng.choice(knob.allowed)
    if knob.kind == "switch":
        return rng.choice(("on", "off"))
    if knob.allowed_numbers:
        return str(rng.choice(knob.allowed_numbers))
    if knob.default is None:
        return "auto"
    number = knob.default * rng.choice((0.5, 1, 2))
    number = min(max(number, knob.low if knob.low is not None else number), knob.high if knob.high is not None else number)
    return str(int(number)) if knob.kind == "int" else repr(float(number))


def _usual_axis(rng: Random, knob: Knob) -> str:
    return ",".join(dict.fromkeys(_usual(rng, knob) for _ in range(rng.randint(1, 4))))


def _number(rng: Random, knob: Knob) -> str:
    low, high = knob.low if knob.low is not None else -1e308, knob.high if knob.high is not None else 1e308
    is_integer = knob.kind in ("int", "ints", "widths")
    if knob.allowed_numbers:
        return str(rng.choice(knob.allowed_numbers))
    chance = rng.random()
    if chance < 0.02:
        return rng.choice(GARBAGE)
    if chance < 0.04:
        return repr(high * 1.01)
    number = rng.choice((low, high, high, min(max(low, 1e-300), high) * max(high / max(low, 1e-6), 1) ** rng.random()))
    number = min(max(number, low), high)
    return str(int(number)) if is_integer else repr(float(number))


def _extreme(rng: Random, knob: Knob) -> str:
    if knob.optional and rng.random() < 0.1:
        return "auto"
    if knob.kind == "choice":
        return rng.choice(knob.allowed)
    if knob.kind == "switch":
        return rng.choice(("on", "off"))
    if knob.kind in SEPARATOR:
        count = rng.choice((1, 1, 1, 2, 26, 100, 700, 3000))
        number = _number(rng, knob)
        return SEPARATOR[knob.kind].join([number] * count)[:2500].rstrip(SEPARATOR[knob.kind])
    if knob.kind in ("float", "int"):
        return _number(rng, knob)
    return rng.choice(("", "x" * 100, "x" * 6001))


def _layers(rng: Random) -> list[tuple[str, str]]:
    width = rng.choice((1, 9, 64, 1000, 65536, 10**6))
    count = min(rng.choice((10, 300, 1000, 3000)), 7000 // (len(str(width)) + 1))
    path = rng.choice(("model.top_mlp", "model.bottom_mlp"))
    end = "1" if path == "model.top_mlp" else "16"
    return [(path, "-".join([str(width)] * count + [end])), ("model.interaction", rng.choice(("concat", "dot")))]


def _tables(rng: Random) -> list[tuple[str, str]]:
    count = rng.choice((1, 100, 1500, 10_000))
    size, num_sizes = rng.choice(("1", "1000000", "100000000000")), min(count, 1500)
    rows = ";".join(str(rng.randint(1, 9999)) for _ in range(num_sizes)) if count == num_sizes and rng.random() < 0.5 else size
    return [
        ("model.num_tables", str(count)),
        ("model.num_embeddings", rows),
        ("model.pooling", rng.choice(("1", "100", "10000"))),
        ("data.batch_size", rng.choice(("1", "128", "1000000"))),
        ("data.popularity", rng.choice(("zipf", "kaggle", "uniform", "meta", "avazu"))),
        ("data.locality", rng.choice(("0", "0.5", "0.9"))),
        ("model.interaction", rng.choice(("concat", "dot"))),
        ("system", rng.choice(variant_names("systems"))),
    ]


def _exponents(rng: Random) -> list[tuple[str, str]]:
    count = rng.choice((26, 1000))
    return [
        ("model.num_tables", str(count)),
        ("model.num_embeddings", rng.choice(("1000", "100000000000", ";".join(str(n + 1) for n in range(count))))),
        ("data.popularity", "zipf"),
        ("data.zipf_exponents", ";".join(str(rng.randint(0, 400) / 100) for _ in range(count))),
        ("data.batch_size", rng.choice(("128", "65536", "1000000"))),
        ("system", rng.choice(variant_names("systems"))),
    ]


def _years(rng: Random) -> list[tuple[str, str]]:
    pairs = [
        ("run.batches", "1000000"),
        ("faults.campaign_days", rng.choice(("3650", "30", "0.01"))),
        ("faults.weibull_shape", rng.choice(("0.2", "1", "10"))),
        ("faults.machines", rng.choice(("1", "100000"))),
        ("policy.checkpoint_minutes", rng.choice(("auto", "0.001", "1000000", "1"))),
        ("system", rng.choice(variant_names("systems"))),
    ]
    mtbfs = [path for path in KNOBS if path.endswith("mtbf_hours")]
    pairs += [(path, rng.choice(("1e-9", "0.1", "1", "30", "100", "1000000"))) for path in rng.sample(mtbfs, rng.randint(1, 4))]
    instants = [path for path in KNOBS if path.endswith("at_seconds")]
    return pairs + [
        (path, ";".join(map(str, range(rng.choice((3, 300, 900)))))) for path in rng.sample(instants, rng.randint(0, 2))
    ]


def _trace(rng: Random) -> list[tuple[str, str]]:
    kinds = [name for name in variant_names("faults") if name not in ("fault-in-recovery", "late-detection")]
    return [("faults.trace", ";".join(f"{rng.randint(0, 10**6)} {rng.choice(kinds)} {rng.randint(0, 9)}" for _ in range(200)))]


def _target(rng: Random) -> list[tuple[str, str]]:
    return [
        ("machine.target_throughput", rng.choice(("1e12", "1e6", "1e7", "1e8", "0.001"))),
        ("machine.num_gpus", "4096"),
        ("machine.gpus_per_node", rng.choice(("1", "8", "64"))),
        ("system", rng.choice(variant_names("systems"))),
        ("machine.network_bandwidth_GBps", rng.choice(("0.1", "22.5", "1000"))),
    ]


def _policies(rng: Random) -> list[tuple[str, str]]:
    return [
        ("policy.mlp_staleness_bound_batches", rng.choice(("0", "1", "200", "100000", "1000000"))),
        ("policy.prefetch_batches", rng.choice(("1", "7", "1000"))),
        ("policy.look_ahead_batches", rng.choice(("1", "200", "100000"))),
        ("policy.cache_policy", rng.choice(("auto", "lru", "lfu", "frequency"))),
        ("policy.cache_load_factor", rng.choice(("0", "1e-9", "0.01", "0.5", "1"))),
        ("policy.hot_rows_MiB", rng.choice(("0.01", "256", "1000000"))),
        ("system", rng.choice(variant_names("systems"))),
        ("data.batch_size", rng.choice(("1", "128", "1000000"))),
        ("run.batches", rng.choice(("1", "1000", "1000000"))),
    ]


def _axes(rng: Random) -> list[tuple[str, str]]:
    return [
        ("axis", f"{path}:{_axis(rng, KNOBS[path])}") for path in rng.choices(tuple(KNOBS), k=rng.choice((1, 2, 3, 6, 6, 200)))
    ] + [
        ("sample", rng.choice(("", "sobol:100000", "lhs:100000", "random:100000", "sobol:64", "sobol:" + "9" * 300, "grid")))
    ] * (rng.random() < 0.7)


def _axis(rng: Random, knob: Knob) -> str:
    if knob.kind in ("float", "int", "floats", "ints") and rng.random() < 0.7:
        low, high = _number(rng, knob), _number(rng, knob)
        return ":".join(
            [
                low,
                rng.choice((high, low)),
                *rng.choice(((), ("10",), ("100000",), ("1000000000",), ("9" * 400,))),
                *["log"] * rng.randint(0, 1),
            ]
        )
    if knob.kind == "choice":
        return ",".join(rng.sample(knob.allowed, rng.randint(1, len(knob.allowed))))
    return ",".join(dict.fromkeys(_extreme(rng, knob) for _ in range(rng.choice((1, 3, 30, 1000)))))[:3000]


def _questions(rng: Random) -> list[tuple[str, str]]:
    text = rng.choice(
        (
            *GARBAGE,
            "1,2,3",
            ",".join(map(str, range(500))),
            "Step time [ms]<=5",
            "Step time [ms],Energy [J]",
            "v1:cxl:0:1:2",
            "estimate:/search?run=estimate:/search",
        )
    )
    return [(rng.choice((*PARAMETERS, "where", "only", "run")), text)] * rng.choice((1, 1, 2, 30))


def _no_parameters(rng: Random) -> list[tuple[str, str]]:
    return []


ATTACKS = (_layers, _tables, _exponents, _years, _trace, _target, _policies, _axes, _questions, _no_parameters)
