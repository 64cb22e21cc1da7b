"""Checks of a host: the defences that hold on it, and attacks that test them."""
