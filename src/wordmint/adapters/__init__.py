"""Wordmint's models behind other libraries' interfaces, a file each; the other library is imported there only."""
