"""A policy as a file of another language that computes in doubles: one printer, and a table for each language."""
