"""Sound before the first layer, and behind the last: spectrograms, and paths of guesses."""
