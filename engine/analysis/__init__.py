"""Answers from a sweep's points: fronts, bounds, the point to buy, importance of knobs.

All modules work on columns: a column has the numbers of many points under a result's name or a knob's path. `objective` reads
objectives and bounds, `pareto` ranks points, `choice` picks the cheapest point within bounds, `importance` explains a metric's
variance by knobs, `search` looks for the front without computing every point.
"""
