"""Being here puts this folder on the import path, so that tests can share `stats` and `twins`."""
