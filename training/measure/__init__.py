"""What is measured of a trained model, by commands."""
