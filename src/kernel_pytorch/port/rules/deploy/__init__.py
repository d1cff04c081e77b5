"""Rules that read containers, clusters, workflows and run scripts."""
