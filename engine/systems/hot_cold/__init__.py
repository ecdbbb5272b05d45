"""Systems that treat popular ("hot") rows and samples differently from all others."""
