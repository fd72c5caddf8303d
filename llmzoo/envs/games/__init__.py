"""Planning games: sudoku, sokoban, plan_path."""
