"""Answers from a sweep's points: fronts, bounds, the point to buy, importance of knobs.

All of it works on columns: numbers of many points under a result's name or a knob's path. `objective` reads objectives and
bounds, `pareto` ranks, `choice` keeps and picks, `importance` shares out a metric's variance, `search` looks for the front
without computing every point.
"""
