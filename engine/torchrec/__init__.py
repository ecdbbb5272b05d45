"""TorchRec in and out: its tables, topology and sharding plans as text, and its planner's own estimates beside ours.

`answer.py` is the way in. Text of others is parsed, never run; TorchRec itself is not needed.
"""
