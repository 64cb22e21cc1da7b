"""The sandbox of candidates: its layers, and the lockdown of a process."""
