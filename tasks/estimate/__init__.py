"""What a run would ask and cost; nothing is asked or written."""
