"""Histories in functional training: HSTU layers over the events of users, forward and backward."""
