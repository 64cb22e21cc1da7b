"""Models of the JSON documents that Vulcan prints: the schema and docs/json.md are made from them."""
