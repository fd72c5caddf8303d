"""What a person looks at: curves, tables."""
