"""A run as a report: its data, and pages of it in HTML and Markdown."""
