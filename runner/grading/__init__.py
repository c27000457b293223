"""A class's submissions, graded in sandboxes."""
