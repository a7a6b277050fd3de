"""How reports are shown: text, JSON, and the catalogue of rules. Nothing here decides anything about a layer."""
