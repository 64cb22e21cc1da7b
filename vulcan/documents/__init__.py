"""Models of the JSON documents that Vulcan prints, from which the schema and docs/json.md are generated."""
