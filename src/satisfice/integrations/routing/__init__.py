"""What a router of LLM calls needs of a study: arms from deployments, sessions, tickets, a judge, prices."""
