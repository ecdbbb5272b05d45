"""The protections, one file each: the state restored after each loss, and the costs."""
