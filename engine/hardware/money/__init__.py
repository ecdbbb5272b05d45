"""Money: bills of machines, prices and their years, quotes, and the price of electricity."""
