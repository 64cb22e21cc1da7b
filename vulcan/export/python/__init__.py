"""Python source of policies, for modules that run without Vulcan."""
