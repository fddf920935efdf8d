"""The dashboard: pages for people, rendered here, that need no script."""
