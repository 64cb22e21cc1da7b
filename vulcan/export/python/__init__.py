"""Python code generation, for modules that run without Vulcan."""
