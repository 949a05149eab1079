"""The kina dialect and its attributes."""
