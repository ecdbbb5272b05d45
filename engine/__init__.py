"""Emberpool's engine: simulate training of a scenario, with its time, energy and faults.

Begin with `simulate`, which shows the main steps on one screen. Each room imports only rooms above it:

    errors, units, version, registry    exceptions, conversions of units, versions, and the search for variants
    core          arrays, constants, kinds of work, task graph, memo
    scenario      the question: one frozen value of knobs, its key, presets
    sweep         many scenarios: axes and links
    workload      the rows that a batch touches: drawn, read from a file, or expected
    hardware      devices: seconds, joules, dollars; parts from data files
    faults        the faults that strike, their times, and the state that they destroy
    systems       training systems: their tasks for a batch, the places of tables, and whether tables fit
    caches        the rows in a cache: a policy applied to real ids
    amounts       the work of batches: expected for an estimate, counted for a full run
    schedule      times and energy: timeline, steady state, many design points at once
    training      a real DLRM: look up, forward, backward, update
    persistence   persistent memory, the log protocol, and recovery
    run           training through faults: run, crash, recover, resume
    results       the results: report, metrics, tables, CSV
    estimates, estimate, simulate, full_runs    functions to call: instant or in full, for one scenario or many
    insight       the causes of a result
    store         finished results in one SQLite file
    service       the processes that compute: queue, workers, cluster
    crashcheck    every crash state of the log protocol, checked for consistency
    validation    results compared with the literature; studies
    campaign      weeks of training under faults and a protection
    analysis      answers from the points of a sweep
    torchrec      TorchRec's tables and plans, read and written
    api           the public functions for scripts and notebooks
    commands      the command line

Inside the engine all amounts are in SI units; `docs/model/` has the formulas.
"""
