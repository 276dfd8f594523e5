"""Failures of real users, each as a test of its whole kind."""
