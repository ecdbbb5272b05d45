"""The steps of a batch that systems share: tasks on GPU, host, far memory, remote memory, and the undo log."""
