"""What blocks are made of: each variant a small module, its description beside it."""
