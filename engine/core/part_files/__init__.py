"""Files of parts: their `tables`, and the user's own parts, which links, stores and pickles carry by their content.

A scenario names an own part as NAME~DIGEST, so that a result that is kept for a scenario always belongs to this content.
"""
