"""Files of parts: their `tables`, and those of one's own, known by their content, carried by links, stores and pickles.

A scenario names such a part as NAME~DIGEST, so that nothing that is remembered or kept by a scenario can be of another content.
"""
