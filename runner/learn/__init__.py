"""The classroom of one learner: exercises, checks, hints, quizzes, progress."""
