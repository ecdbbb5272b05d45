"""Parts of the page Decide: the machine to buy, the next best, tipping points, confidence."""
