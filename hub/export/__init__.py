"""Models of this project in the Hugging Face format, and back."""
