"""Parts of one's own: files in a folder outside the package, known by their content, carried by links, stores and pickles.

A scenario names such a part as NAME~DIGEST, so that nothing that is remembered or kept by a scenario can be of another content.
"""
