"""Start: the questions people come with, the models to ask them about, and what a visitor sees while the engine gets ready."""
