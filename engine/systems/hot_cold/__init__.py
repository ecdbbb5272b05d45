"""Systems that treat hot rows and popular samples apart."""
