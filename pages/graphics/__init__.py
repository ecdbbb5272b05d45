"""Charts: specifications as values, and the component that draws one with its words and saves it."""
