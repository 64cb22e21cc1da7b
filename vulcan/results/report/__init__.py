"""Run reports: their data, and the HTML and JSON formats."""
