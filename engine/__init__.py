"""Emberpool's engine: a scenario goes in, simulated training with its time, energy and faults comes out.

Read it in this order; each module needs only those above it.

1. What is asked: `errors`, `knobs` and `groups`, then `scenario` (one frozen value), `presets`, `links`, `registry`.
2. What a batch touches: `workload` (ids from the generator or a file, counted or expected), `traffic` (rows and bytes).
3. What that causes: `work` (kinds of work), `graph` (tasks of one batch), `blocks` and `blocks_undo` (shared steps), then
   one file of `systems`, say `systems/cxl_d.py`, before `systems/cxl.py`.
4. When and at what cost: `device` and `devices` (seconds, joules, prices), `template` and `schedule` (the event loop),
   `timeline`, `critical_path`, `steady` and `energy`.
5. What a fault leaves: `hazard` (instants), `fault` and `fault_table` (who strikes, what is lost), `persistence` with the
   `persistence_models` (the log protocol and its medium), `cut`, `course` (one segment), `outage`, `damage`, `crash`, and
   `run`, the fold over segments: run, cut, recover, resume. `crashcheck` explores the crash states of the same protocol.
6. What the model learns: `training`, then `learner` and `lessons`, which bring it and the run together.
7. What comes out: `books`, `report`, `metric_table`, `finding`, `tables`, `story`, `result`.
8. The two ways in: `simulate`, everything on one screen, and `estimate`, its instant counterpart without ids.

Beside an estimate: `moves`, how many bytes each task of a batch moves on which device.

Between estimates: `insight`, what each step from pmem to cxl saves, when a relaxed log pays, when the link stops to matter.

Over weeks: `campaign`, which folds over faults under the `protections`, each of them one file, from the estimate of a batch.

Over many points: `axes` and `sweep`, which they span, and `answers`, what those say: fronts, bounds, which knob matters.

Around it: `fit` (does the scenario fit its machine?), `service` (sweeps, kept results, worker processes),
`study` (what a stale MLP costs, over many seeds) and `commands` (the command line). Inside the engine all amounts are SI;
`docs/model.md` has the formulas.
"""
