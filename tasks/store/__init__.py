"""What runs keep: tables, replies, manifests, baselines."""
