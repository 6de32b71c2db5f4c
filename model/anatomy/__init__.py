"""What a model is made of, once: stacks, layers, what feeds what, what each tap holds."""
