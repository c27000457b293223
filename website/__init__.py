"""What turns the lessons into pages: the explorer of a kernel, and the site."""
