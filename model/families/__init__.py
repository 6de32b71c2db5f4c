"""Parts put together, one file a family."""
