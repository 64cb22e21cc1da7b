"""What values a program's expressions can have: intervals, carried along every way through it."""
