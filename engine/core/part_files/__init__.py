"""Files of parts: their tables, and the user's own parts.

Links, stores and pickles carry own parts by their content.
A scenario names an own part as NAME~DIGEST, so that a result that is kept for a scenario always belongs to this content.
"""
