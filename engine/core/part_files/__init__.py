"""Files of parts: their tables, and users' own parts.

Links, stores and pickles carry the content of own parts. A scenario names an own part as NAME~DIGEST, with the digest of the
part's content, so that a stored result always belongs to that content.
"""
