"""TrainingCXL and the systems that its papers compare it with."""
