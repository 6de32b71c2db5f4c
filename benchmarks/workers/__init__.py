"""What work in processes of its own costs: live training, fine-tuning, strangers' models."""
