"""What is timed on a GPU: chart, profile, autotune, ceilings."""
