"""How tokens are written one after another, and the cache that makes it quick."""
