"""Emberpool's engine: a scenario goes in, simulated training with its time, energy and faults comes out.

Rooms, from the ground up; each imports only those before it.

1. What is asked: `errors`, `units`, `version`, `registry`, `core` (words that all share), `scenario` (one frozen value),
   `sweep` (many of them, and links).
2. What a batch touches: `workload` (ids from the generator or a file, expectations of their accesses).
3. What the machine can do: `hardware` (devices: seconds, joules, prices) and `faults` (who strikes, what is lost).
4. What a batch causes: `systems` (tasks of one batch; read `systems/trainingcxl/cxl_d.py` before `cxl.py`), `caches`
   (which rows are near), `amounts` (what batches ask for: expected, or counted from ids).
5. When and at what cost: `schedule` (arrays, event loop, averages, energy).
6. What a run does: `training` (a real DLRM), `persistence` (the log protocol and its medium), `run` (the fold over
   segments: run, cut, recover, resume).
7. What comes out: `results` (report, ledger, metrics, tables).
8. The two ways in: `simulate`, everything on one screen, and `estimate`, its instant counterpart without ids; `full_runs`
   and `estimates` do many at once.
9. Around them: `insight` (why the answer is what it is), `store` and `service` (what is kept, and who computes it),
   `crashcheck` (every crash state, judged), `validation` (held against the literature), `campaign` (weeks of training under
   a protection), `analysis` (from points to an answer), `commands` (the command line).

Inside the engine all amounts are SI; `docs/model.md` has the formulas.
"""
