"""Who grades an answer without knowing the arm: the packet, the question, the reply."""
