"""Emberpool's engine: simulate training of a scenario, with its time, energy and faults.

Begin with `simulate`, the main idea on one screen. Each room needs only those above it:

    errors, units, version, registry    the floor: exceptions, conversions, versions, how variants are found
    core          arrays, constants, kinds of work, task graph, memo
    scenario      what is asked: one frozen value of knobs, its key, presets
    sweep         many scenarios: axes, and links
    workload      which rows a batch touches: drawn, read or expected
    hardware      devices: seconds, joules, dollars; parts from data files
    faults        who strikes when, and what is lost
    systems       how a training system turns batches into tasks; where tables lie, whether they fit
    caches        which rows are near: a policy applied to real ids
    amounts       what batches ask for: expected for an estimate, counted for a full run
    schedule      when and at what cost: timeline, steady state, many design points at once
    training      a real DLRM: look up, forward, backward, update
    persistence   persistent memory, the log protocol, and recovery
    run           training through faults: run, cut, recover, resume
    results       what comes out: report, metrics, tables, CSV
    estimates, estimate, simulate, full_runs    the ways in: instant or in full, one scenario or many
    insight       why the answer is what it is
    store         what is kept: one SQLite file
    service       who computes it: queue, workers, cluster
    crashcheck    every crash state of the log protocol, judged
    validation    held against the literature; studies
    campaign      weeks of training under faults and a protection
    analysis      from the points of a sweep to an answer
    torchrec      TorchRec's tables and plans, in and out
    api           the public face for scripts and notebooks
    commands      the command line

Inside the engine all amounts are SI; `docs/model/` has the formulas.
"""
