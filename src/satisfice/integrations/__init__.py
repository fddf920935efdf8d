"""Studies inside other people's software. None of these modules is imported by the package itself."""
