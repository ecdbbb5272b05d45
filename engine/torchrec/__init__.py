"""Exchange with TorchRec: tables, topology and sharding plans as text, and its planner's estimates.

`answer.py` is the way in. Text of others is parsed, never run; TorchRec itself is not needed.
"""
