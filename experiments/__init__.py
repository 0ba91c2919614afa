"""Studies, figures and the command line."""
