"""Charts and tables drawn as plain HTML."""
