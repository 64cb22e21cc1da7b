"""Code that exported modules have behind a policy."""
