"""The theorems, one file for each proof technique: what a bound adds up, term by term."""
