"""TrainingCXL and the systems that its paper compares it with."""
