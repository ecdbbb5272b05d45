"""Exchange with TorchRec: tables, topology and sharding plans as text, and its planner's estimates.

Begin with `answer.py`. Texts of users are parsed, never executed; TorchRec itself is not needed.
"""
