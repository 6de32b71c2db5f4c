"""Experiments of the lessons on inputs."""
