"""The dashboard: runs and live searches in a browser on the same machine."""
