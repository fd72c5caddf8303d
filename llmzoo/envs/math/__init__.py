"""Mathematics: problems with exact answers."""
