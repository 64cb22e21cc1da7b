"""Run reports: their data, and the HTML, Markdown and JSON formats."""
