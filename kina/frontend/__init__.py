"""From `.kina` text to kina IR."""
