"""Hidden roles: the mafia kills by night, and the village votes by day on whom to remove."""
