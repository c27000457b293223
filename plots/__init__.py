"""Charts, tables and pictures. Each is drawn from its input alone: the same results give the same bytes."""
